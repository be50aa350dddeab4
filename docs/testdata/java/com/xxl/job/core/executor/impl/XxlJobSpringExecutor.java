package com.xxl.job.core.executor.impl;

import com.xxl.job.core.executor.XxlJobExecutor;

/** What the examples of the manual call of XXL-JOB's library. */
public class XxlJobSpringExecutor extends XxlJobExecutor {
}
