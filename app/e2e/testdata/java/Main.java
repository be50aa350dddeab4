import com.xxl.job.core.context.XxlJobContext;
import com.xxl.job.core.context.XxlJobHelper;
import com.xxl.job.core.executor.impl.XxlJobSimpleExecutor;
import com.xxl.job.core.handler.annotation.XxlJob;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** An executor made of XXL-JOB's library, with a handler that writes down which run it does. */
public class Main {
    private static Path done;

    public static class Jobs {
        /** Sleeps for the milliseconds of its parameter. */
        @XxlJob("count")
        public void count() throws Exception {
            String run = logFile().replaceAll(".*[/\\\\](\\d+)\\.log$", "$1");
            synchronized (Jobs.class) {
                Files.writeString(done, run + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            XxlJobHelper.log("run " + run);
            Thread.sleep(Long.parseLong(XxlJobHelper.getJobParam()));
        }

        /** The getter changed its name between the versions. */
        private static String logFile() throws Exception {
            Object context = XxlJobContext.getXxlJobContext();
            for (String name : List.of("getJobLogFileName", "getLogFileName")) {
                try {
                    return (String) context.getClass().getMethod(name).invoke(context);
                } catch (NoSuchMethodException e) {
                    continue;
                }
            }
            throw new IllegalStateException("no name of a log file");
        }
    }

    private static void setIfThere(Object of, String name, Class<?> type, Object value) throws Exception {
        try {
            of.getClass().getMethod(name, type).invoke(of, value);
        } catch (NoSuchMethodException e) {
            return; // of a later version
        }
    }

    /** Arguments: admin, token, app name, port, folder, file for what was done. */
    public static void main(String[] args) throws Exception {
        done = Path.of(args[5]);
        XxlJobSimpleExecutor executor = new XxlJobSimpleExecutor();
        executor.setAdminAddresses(args[0]);
        executor.setAccessToken(args[1]);
        executor.setAppname(args[2]);
        executor.setIp("127.0.0.1");
        executor.setPort(Integer.parseInt(args[3]));
        executor.setLogPath(args[4]);
        executor.setLogRetentionDays(3);
        setIfThere(executor, "setTimeout", int.class, 3);
        setIfThere(executor, "setEnabled", Boolean.class, true);
        executor.setXxlJobBeanList(List.of(new Jobs()));
        executor.start();
        Thread.currentThread().join();
    }
}
