package streamline.jobs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * A source that keeps a schedule, as a log does that others write to: records become due by the clock whether or not they are
 * read, what is due and not yet emitted is the backlog, reported as {@code pendingRecords}. The partitions share the rate
 * evenly. A record is a number: its partition and its place in it, see {@link Pipeline#record}.
 */
final class ScheduledSource implements Source<Long, Partition, Collection<Partition>> {
    private final Schedule schedule;
    private final int partitions;
    private final long recordsPerPartition;

    ScheduledSource(Schedule schedule, int partitions, long recordsPerPartition) {
        this.schedule = schedule;
        this.partitions = partitions;
        this.recordsPerPartition = recordsPerPartition;
    }

    @Override
    public Boundedness getBoundedness() {
        return recordsPerPartition == Long.MAX_VALUE ? Boundedness.CONTINUOUS_UNBOUNDED : Boundedness.BOUNDED;
    }

    @Override
    public SplitEnumerator<Partition, Collection<Partition>> createEnumerator(SplitEnumeratorContext<Partition> context) {
        long epochMs = System.currentTimeMillis();
        List<Partition> all = new ArrayList<>();
        for (int id = 0; id < partitions; id++) {
            all.add(new Partition(id, epochMs, 0));
        }
        return new Enumerator(context, all);
    }

    @Override
    public SplitEnumerator<Partition, Collection<Partition>> restoreEnumerator(
            SplitEnumeratorContext<Partition> context, Collection<Partition> unassigned) {
        return new Enumerator(context, unassigned);
    }

    @Override
    public SimpleVersionedSerializer<Partition> getSplitSerializer() {
        return new Partition.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<Collection<Partition>> getEnumeratorCheckpointSerializer() {
        return new Partition.ListSerializer();
    }

    @Override
    public SourceReader<Long, Partition> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    /** Deals the partitions out evenly. */
    private static final class Enumerator implements SplitEnumerator<Partition, Collection<Partition>> {
        private final SplitEnumeratorContext<Partition> context;
        private final List<Partition> unassigned;

        Enumerator(SplitEnumeratorContext<Partition> context, Collection<Partition> unassigned) {
            this.context = context;
            this.unassigned = new ArrayList<>(unassigned);
        }

        @Override
        public void start() {}

        @Override
        public void addReader(int subtask) {
            for (Iterator<Partition> rest = unassigned.iterator(); rest.hasNext(); ) {
                Partition partition = rest.next();
                if (partition.id % context.currentParallelism() == subtask) {
                    rest.remove();
                    context.assignSplit(partition, subtask);
                }
            }
            context.signalNoMoreSplits(subtask);
        }

        @Override
        public void handleSplitRequest(int subtask, String hostname) {}

        @Override
        public void addSplitsBack(List<Partition> partitions, int subtask) {
            unassigned.addAll(partitions);
        }

        @Override
        public Collection<Partition> snapshotState(long checkpoint) {
            return new ArrayList<>(unassigned);
        }

        @Override
        public void close() throws IOException {}
    }

    private final class Reader implements SourceReader<Long, Partition> {
        /** Enough to be quick, few enough that a checkpoint does not wait for long. */
        private static final int AT_ONCE = 16;

        private static final int PAUSE_MS = 5;

        private final List<Partition> mine = new ArrayList<>();
        private boolean allAssigned;

        Reader(SourceReaderContext context) {
            context.metricGroup().setPendingRecordsGauge(this::backlog);
        }

        private long due(Partition partition) {
            double seconds = (System.currentTimeMillis() - partition.epochMs) / 1000.0;
            return Math.min(recordsPerPartition, (long) (schedule.due(seconds) / partitions));
        }

        private long backlog() {
            long backlog = 0;
            // Asked from another thread: a copy, for partitions may just be added.
            for (Partition partition : mine.toArray(new Partition[0])) {
                backlog += Math.max(0, due(partition) - partition.emitted);
            }
            return backlog;
        }

        @Override
        public void start() {}

        @Override
        public InputStatus pollNext(ReaderOutput<Long> output) {
            boolean ended = allAssigned;
            boolean more = false;
            for (Partition partition : mine) {
                long until = Math.min(due(partition), partition.emitted + AT_ONCE);
                while (partition.emitted < until) {
                    output.collect(Pipeline.record(partition.id, partition.emitted++));
                }
                more |= partition.emitted < due(partition);
                ended &= partition.emitted == recordsPerPartition;
            }
            if (ended) {
                return InputStatus.END_OF_INPUT;
            }
            return more ? InputStatus.MORE_AVAILABLE : InputStatus.NOTHING_AVAILABLE;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return new CompletableFuture<Void>().completeOnTimeout(null, PAUSE_MS, TimeUnit.MILLISECONDS);
        }

        @Override
        public List<Partition> snapshotState(long checkpoint) {
            List<Partition> copies = new ArrayList<>();
            for (Partition partition : mine) {
                copies.add(new Partition(partition.id, partition.epochMs, partition.emitted));
            }
            return copies;
        }

        @Override
        public void addSplits(List<Partition> partitions) {
            mine.addAll(partitions);
        }

        @Override
        public void notifyNoMoreSplits() {
            allAssigned = true;
        }

        @Override
        public void close() {}
    }
}
