package streamline.jobs;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;

/**
 * A job whose rates, selectivities, costs and results are known beforehand. The folder's README lists its arguments.
 *
 * <p>{@code chain} is source → parse → count → sink. {@code diamond} has a left and a right way between parse and count,
 * {@code join} reads two sources into parse, {@code two-sinks} has a second sink behind parse, {@code kinds} is two sources →
 * join → map → filter → count → window → sink.
 */
public final class Pipeline {
    private static final int PARTITION_BITS = 20;
    private static final int PLACE_BITS = Long.SIZE - 1 - PARTITION_BITS;

    private final Arguments arguments;
    private final Map<String, Integer> parallelism = new HashMap<>();
    private final Map<String, String> groups;

    private Pipeline(Arguments arguments) {
        this.arguments = arguments;
        for (Map.Entry<String, String> each : arguments.pairs("parallelism").entrySet()) {
            // What was not filled in stays at the default.
            if (!each.getValue().startsWith("{")) {
                parallelism.put(each.getKey(), Integer.parseInt(each.getValue()));
            }
        }
        groups = arguments.pairs("groups");
    }

    public static void main(String[] args) throws Exception {
        new Pipeline(new Arguments(args)).run();
    }

    /** The record at this place of this partition. */
    static long record(int partition, long place) {
        return ((long) partition << PLACE_BITS) | place;
    }

    static long place(long record) {
        return record & ((1L << PLACE_BITS) - 1);
    }

    private void run() throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        long checkpointMs = arguments.whole("checkpoint-ms", 0);
        if (checkpointMs > 0) {
            env.enableCheckpointing(checkpointMs);
        }
        String shape = arguments.text("shape", "chain");
        DataStream<Long> read = source(env, "source");
        DataStream<Long> parsed;
        if (shape.equals("join")) {
            parsed = parse(join(env, read));
        } else if (shape.equals("kinds")) {
            DataStream<Long> mapped = named(join(env, read).rebalance().map(new Pass(cost("map"))), "map");
            Keep keep = new Keep(cost("filter"), arguments.number("filter-selectivity", 0.5));
            parsed = named(mapped.rebalance().filter(keep), "filter");
        } else {
            parsed = parse(read);
        }
        if (shape.equals("two-sinks")) {
            sink(parsed, "copy");
        }
        if (shape.equals("diamond")) {
            DataStream<Long> left = named(parsed.rebalance().map(new Pass(cost("left"))), "left");
            DataStream<Long> right = named(parsed.rebalance().map(new Pass(cost("right"))), "right");
            parsed = left.union(right);
        }
        long stages = arguments.whole("stages", 0);
        for (int stage = 1; stage <= stages; stage++) {
            String name = "stage" + stage;
            parsed = named(parsed.rebalance().map(new Pass(cost(name))), name);
        }
        KeySelector<Long, Integer> key = keyOf((int) arguments.whole("keys", 64));
        Count count =
                new Count(
                        cost("count"),
                        arguments.number("count-selectivity", 1),
                        arguments.whole("fail-at", -1),
                        arguments.text("result", ""),
                        (int) arguments.whole("state-bytes", 0));
        DataStream<Long> counted = named(parsed.keyBy(key, Types.INT).process(count), "count");
        if (shape.equals("kinds")) {
            Duration length = Duration.ofMillis(arguments.whole("window-ms", 500));
            counted =
                    named(
                            counted.keyBy(key, Types.INT)
                                    .window(TumblingProcessingTimeWindows.of(length))
                                    .reduce(new Latest(cost("window"))),
                            "window");
        }
        sink(counted, "sink");
        env.execute(arguments.text("name", "pipeline"));
    }

    private static KeySelector<Long, Integer> keyOf(int keys) {
        return record -> (int) (place(record) % keys);
    }

    private DataStream<Long> join(StreamExecutionEnvironment env, DataStream<Long> read) {
        return named(read.rebalance().connect(source(env, "second").rebalance()).map(new Pass(cost("join"))), "join");
    }

    private DataStream<Long> source(StreamExecutionEnvironment env, String name) {
        Schedule schedule = new Schedule(arguments.text("schedule", "0:1000"), arguments.number("period", 0));
        int partitions = (int) arguments.whole("partitions", 8);
        long records = arguments.whole("records", 0);
        ScheduledSource source = new ScheduledSource(schedule, partitions, records == 0 ? Long.MAX_VALUE : records);
        return named(env.fromSource(source, WatermarkStrategy.noWatermarks(), name, Types.LONG), name);
    }

    private DataStream<Long> parse(DataStream<Long> read) {
        Parse parse = new Parse(cost("parse"), arguments.number("parse-selectivity", 1));
        return named(read.rebalance().flatMap(parse).returns(Types.LONG), "parse");
    }

    private void sink(DataStream<Long> stream, String name) {
        SingleOutputStreamOperator<Long> passed = named(stream.rebalance().map(new Pass(cost(name))), name);
        DataStreamSink<Long> discarded = passed.sinkTo(new DiscardingSink<>()).name("discard").uid(name + "-discard");
        if (parallelism.containsKey(name)) {
            // Chained to the operator before, as one vertex.
            discarded.setParallelism(parallelism.get(name));
        }
    }

    private Cost cost(String operator) {
        return new Cost(arguments.number(operator + "-us", 0), Boolean.parseBoolean(arguments.text("burn", "false")));
    }

    private SingleOutputStreamOperator<Long> named(SingleOutputStreamOperator<Long> operator, String name) {
        operator.name(name).uid(name);
        if (parallelism.containsKey(name)) {
            operator.setParallelism(parallelism.get(name));
        }
        if (groups.containsKey(name)) {
            operator.slotSharingGroup(groups.get(name));
        }
        return operator;
    }
}
