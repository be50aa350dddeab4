package punctual;

import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** The requests that asked for runs, by the runs' numbers: the latest of them, of which some wait, some go on and some have ended. */
public final class Requests {
    private static final int MOST = 10_000;
    private static final Map<String, Context> requests = new LinkedHashMap<>();
    private static final ThreadLocal<Scope> scope = new ThreadLocal<>();

    private Requests() {}

    public static void put(Object run, Context request) throws Exception {
        String number = String.valueOf(run.getClass().getMethod("getLogId").invoke(run));
        synchronized (requests) {
            requests.put(number, request);
            if (requests.size() > MOST) {
                Iterator<String> oldest = requests.keySet().iterator();
                oldest.next();
                oldest.remove();
            }
        }
    }

    /** This thread goes on where the request of a run was. A run with a time limit begins twice: its handler has a thread of its own. */
    public static void begin(Object run) throws Exception {
        Scope before = scope.get();
        if (before != null) {
            before.close();
            scope.remove();
        }
        if (run == null) {
            return;
        }
        Context request;
        synchronized (requests) {
            request = requests.get(number(run));
        }
        if (request != null) {
            scope.set(request.makeCurrent());
        }
    }

    /** The number of a run is the name of its log file; releases differ in the getter's name. */
    private static String number(Object run) throws Exception {
        String file;
        try {
            file = (String) run.getClass().getMethod("getJobLogFileName").invoke(run);
        } catch (NoSuchMethodException e) {
            file = (String) run.getClass().getMethod("getLogFileName").invoke(run);
        }
        return file.replaceAll(".*[/\\\\]", "").replaceAll("\\.log$", "");
    }
}
