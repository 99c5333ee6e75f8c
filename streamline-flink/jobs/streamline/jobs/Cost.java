package streamline.jobs;

import java.io.Serializable;
import java.util.concurrent.locks.LockSupport;

/**
 * What a record costs an operator: time that it waits, or, burnt, time that it computes.
 *
 * <p>A wait costs no cpu, so that the capacity of a subtask is known whatever else runs on the machine. Waits of less than a
 * millisecond are saved up, for no clock is that fine; what a wait took too long is taken off the next ones.
 */
final class Cost implements Serializable {
    private static final long SHORTEST_NS = 1_000_000;

    private final long nanos;
    private final boolean burnt;
    private long owed;

    Cost(double micros, boolean burnt) {
        this.nanos = Math.round(micros * 1_000);
        this.burnt = burnt;
    }

    void pay() {
        if (nanos == 0) {
            return;
        }
        if (burnt) {
            long until = System.nanoTime() + nanos;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            return;
        }
        owed += nanos;
        if (owed >= SHORTEST_NS) {
            long from = System.nanoTime();
            LockSupport.parkNanos(owed);
            owed -= System.nanoTime() - from;
        }
    }
}
