package streamline.jobs;

import java.io.Serializable;

/**
 * How many records are due by when: {@code 0:1000,60:3000} is 1,000 records a second at first and 3,000 from the 60th second
 * on; with a period it starts again from there.
 */
final class Schedule implements Serializable {
    private final double[] from;
    private final double[] rate;
    private final double period;

    Schedule(String text, double periodSeconds) {
        String[] steps = text.split(",");
        from = new double[steps.length];
        rate = new double[steps.length];
        period = periodSeconds;
        for (int i = 0; i < steps.length; i++) {
            String[] step = steps[i].split(":");
            from[i] = Double.parseDouble(step[0]);
            rate[i] = Double.parseDouble(step[1]);
            if (i == 0 ? from[i] != 0 : from[i] <= from[i - 1]) {
                throw new IllegalArgumentException("steps begin at 0 and rise: " + text);
            }
            if (!(rate[i] >= 0)) {
                throw new IllegalArgumentException("rates are not negative: " + text);
            }
        }
        if (period != 0 && period <= from[steps.length - 1]) {
            throw new IllegalArgumentException("the period is over before the last step");
        }
    }

    /** Records due after so many seconds. */
    double due(double seconds) {
        if (seconds <= 0) {
            return 0;
        }
        if (period == 0) {
            return within(seconds);
        }
        double periods = Math.floor(seconds / period);
        return periods * within(period) + within(seconds - periods * period);
    }

    private double within(double seconds) {
        double due = 0;
        for (int i = 0; i < from.length && from[i] < seconds; i++) {
            double until = i + 1 < from.length ? Math.min(from[i + 1], seconds) : seconds;
            due += rate[i] * (until - from[i]);
        }
        return due;
    }
}
