package com.xxl.job.core.executor.impl;

import com.xxl.job.core.executor.XxlJobExecutor;
import java.util.List;

/** What the examples of the manual call of XXL-JOB's library. */
public class XxlJobSimpleExecutor extends XxlJobExecutor {
    public void setXxlJobBeanList(List<Object> beans) { }
    public void start() { }
}
