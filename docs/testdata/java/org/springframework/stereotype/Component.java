package org.springframework.stereotype;

/** What the examples of the manual use of Spring. */
public @interface Component {
}
