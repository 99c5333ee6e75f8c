package streamline.jobs;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.util.Collector;

/** Emits each record as often as the selectivity says: the n-th of a partition so that n of them gave floor(n × selectivity). */
final class Parse implements FlatMapFunction<Long, Long> {
    private final Cost cost;
    private final double selectivity;

    Parse(Cost cost, double selectivity) {
        this.cost = cost;
        this.selectivity = selectivity;
    }

    @Override
    public void flatMap(Long record, Collector<Long> out) {
        cost.pay();
        for (long copies = copies(Pipeline.place(record), selectivity); copies > 0; copies--) {
            out.collect(record);
        }
    }

    static long copies(long place, double selectivity) {
        return (long) Math.floor((place + 1) * selectivity) - (long) Math.floor(place * selectivity);
    }
}
