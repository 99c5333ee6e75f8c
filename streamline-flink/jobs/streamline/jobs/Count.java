package streamline.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Counts and adds up the records of each key. When the input has ended it writes {@code key count sum} as a line of the result
 * file of that key, from its state: a record that was lost or doubled on the way shows there.
 */
final class Count extends KeyedProcessFunction<Integer, Long, Long> {
    private final Cost cost;
    private final double selectivity;
    private final long failAt;
    private final String resultFolder;
    private final int ballastBytes;
    private transient ValueState<Long> counted;
    private transient ValueState<Long> summed;
    private transient ValueState<byte[]> ballast;

    Count(Cost cost, double selectivity, long failAt, String resultFolder, int ballastBytes) {
        this.cost = cost;
        this.selectivity = selectivity;
        this.failAt = failAt;
        this.resultFolder = resultFolder;
        this.ballastBytes = ballastBytes;
    }

    @Override
    public void open(OpenContext context) {
        counted = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        summed = getRuntimeContext().getState(new ValueStateDescriptor<>("sum", Types.LONG));
        ballast = getRuntimeContext().getState(new ValueStateDescriptor<>("ballast", byte[].class));
    }

    @Override
    public void processElement(Long record, Context context, Collector<Long> out) throws Exception {
        cost.pay();
        long before = counted.value() == null ? 0 : counted.value();
        if (before == 0 && !resultFolder.isEmpty()) {
            // Due only when no more records can come.
            context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
        }
        if (before == failAt) {
            throw new IllegalStateException("fails at record " + failAt + " of key " + context.getCurrentKey());
        }
        if (ballastBytes > 0) {
            byte[] carried = ballast.value() == null ? new byte[ballastBytes] : ballast.value();
            carried[(int) (before % ballastBytes)]++;
            ballast.update(carried);
        }
        counted.update(before + 1);
        summed.update((summed.value() == null ? 0 : summed.value()) + Pipeline.place(record));
        for (long copies = Parse.copies(before, selectivity); copies > 0; copies--) {
            out.collect(record);
        }
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<Long> out) throws IOException {
        try {
            Path folder = Files.createDirectories(Paths.get(resultFolder));
            String line = context.getCurrentKey() + " " + counted.value() + " " + summed.value() + "\n";
            Files.writeString(
                    folder.resolve(context.getCurrentKey() + ".txt"),
                    line,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE);
        } catch (Exception e) {
            throw new IOException("result of key " + context.getCurrentKey(), e);
        }
    }
}
