package org.springframework.boot;

/** What the examples of the manual call of Spring. */
public class SpringApplication {
    public static void run(Class<?> source, String... arguments) { }
}
