package org.springframework.context.annotation;

/** What the examples of the manual use of Spring. */
public @interface Bean {
}
