package streamline.jobs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A partition of the source: when its schedule began, and how many of its records were emitted. */
final class Partition implements SourceSplit {
    final int id;
    final long epochMs;
    long emitted;

    Partition(int id, long epochMs, long emitted) {
        this.id = id;
        this.epochMs = epochMs;
        this.emitted = emitted;
    }

    @Override
    public String splitId() {
        return Integer.toString(id);
    }

    private void write(DataOutputStream out) throws IOException {
        out.writeInt(id);
        out.writeLong(epochMs);
        out.writeLong(emitted);
    }

    private static Partition read(DataInputStream in) throws IOException {
        return new Partition(in.readInt(), in.readLong(), in.readLong());
    }

    static final class Serializer implements SimpleVersionedSerializer<Partition> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Partition partition) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            partition.write(new DataOutputStream(bytes));
            return bytes.toByteArray();
        }

        @Override
        public Partition deserialize(int version, byte[] bytes) throws IOException {
            return read(new DataInputStream(new ByteArrayInputStream(bytes)));
        }
    }

    /** Of the partitions that no reader has yet. */
    static final class ListSerializer implements SimpleVersionedSerializer<Collection<Partition>> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Collection<Partition> partitions) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(partitions.size());
            for (Partition partition : partitions) {
                partition.write(out);
            }
            return bytes.toByteArray();
        }

        @Override
        public Collection<Partition> deserialize(int version, byte[] bytes) throws IOException {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
            int count = in.readInt();
            List<Partition> partitions = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                partitions.add(read(in));
            }
            return partitions;
        }
    }
}
