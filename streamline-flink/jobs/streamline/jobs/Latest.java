package streamline.jobs;

import org.apache.flink.api.common.functions.ReduceFunction;

/** The latest record of a window, at a cost for each that comes after the first. */
final class Latest implements ReduceFunction<Long> {
    private final Cost cost;

    Latest(Cost cost) {
        this.cost = cost;
    }

    @Override
    public Long reduce(Long before, Long record) {
        cost.pay();
        return record;
    }
}
