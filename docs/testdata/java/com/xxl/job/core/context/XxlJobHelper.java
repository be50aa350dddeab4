package com.xxl.job.core.context;

/** What the examples of the manual call of XXL-JOB's library. */
public class XxlJobHelper {
    public static String getJobParam() { return ""; }
    public static int getShardIndex() { return 0; }
    public static int getShardTotal() { return 1; }
    public static boolean log(String pattern, Object... values) { return true; }
    public static boolean handleSuccess(String text) { return true; }
    public static boolean handleFail(String text) { return true; }
}
