package org.springframework.beans.factory.annotation;

/** What the examples of the manual use of Spring. */
public @interface Value {
    String value();
}
