package streamline.jobs;

import org.apache.flink.api.common.functions.FilterFunction;

/** Lets a share of the records through: of the first n of a partition floor(n × share). */
final class Keep implements FilterFunction<Long> {
    private final Cost cost;
    private final double share;

    Keep(Cost cost, double share) {
        this.cost = cost;
        this.share = Math.min(1, share);
    }

    @Override
    public boolean filter(Long record) {
        cost.pay();
        return Parse.copies(Pipeline.place(record), share) > 0;
    }
}
