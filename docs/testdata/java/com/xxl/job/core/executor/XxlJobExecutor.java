package com.xxl.job.core.executor;

/** What the examples of the manual call of XXL-JOB's library. */
public class XxlJobExecutor {
    public void setAdminAddresses(String addresses) { }
    public void setAccessToken(String token) { }
    public void setAppname(String name) { }
    public void setPort(int port) { }
    public void setLogPath(String path) { }
    public void setLogRetentionDays(int days) { }
    public void destroy() { }
}
