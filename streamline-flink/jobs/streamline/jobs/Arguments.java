package streamline.jobs;

import java.util.HashMap;
import java.util.Map;

/** Arguments of the form {@code --name value}. */
final class Arguments {
    private final Map<String, String> values = new HashMap<>();

    Arguments(String[] args) {
        if (args.length % 2 != 0) {
            throw new IllegalArgumentException("arguments come in pairs: --name value");
        }
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--")) {
                throw new IllegalArgumentException("not a name: " + args[i]);
            }
            values.put(args[i].substring(2), args[i + 1]);
        }
    }

    String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    long whole(String name, long otherwise) {
        return values.containsKey(name) ? Long.parseLong(values.get(name)) : otherwise;
    }

    double number(String name, double otherwise) {
        return values.containsKey(name) ? Double.parseDouble(values.get(name)) : otherwise;
    }

    /** A value like {@code parse=2,count=4}. */
    Map<String, String> pairs(String name) {
        Map<String, String> pairs = new HashMap<>();
        for (String each : text(name, "").split(",")) {
            String[] pair = each.split("=");
            if (pair.length == 2) {
                pairs.put(pair[0], pair[1]);
            } else if (!each.isEmpty()) {
                throw new IllegalArgumentException("not name=value: " + each);
            }
        }
        return pairs;
    }
}
