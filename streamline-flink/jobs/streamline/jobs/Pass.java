package streamline.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.functions.co.CoMapFunction;

/** Hands on what comes, at a cost. */
final class Pass implements MapFunction<Long, Long>, CoMapFunction<Long, Long, Long> {
    private final Cost cost;

    Pass(Cost cost) {
        this.cost = cost;
    }

    @Override
    public Long map(Long record) {
        cost.pay();
        return record;
    }

    @Override
    public Long map1(Long record) {
        return map(record);
    }

    @Override
    public Long map2(Long record) {
        return map(record);
    }
}
