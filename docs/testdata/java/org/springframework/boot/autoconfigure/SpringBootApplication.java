package org.springframework.boot.autoconfigure;

/** What the examples of the manual use of Spring. */
public @interface SpringBootApplication {
}
