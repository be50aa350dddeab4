package com.xxl.job.core.handler.annotation;

/** What the examples of the manual use of XXL-JOB's library. */
public @interface XxlJob {
    String value();
}
