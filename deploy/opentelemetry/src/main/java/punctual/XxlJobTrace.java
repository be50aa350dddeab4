package punctual;

import static net.bytebuddy.matcher.ElementMatchers.isStatic;
import static net.bytebuddy.matcher.ElementMatchers.named;

import io.opentelemetry.context.Context;
import io.opentelemetry.javaagent.extension.instrumentation.InstrumentationModule;
import io.opentelemetry.javaagent.extension.instrumentation.TypeInstrumentation;
import io.opentelemetry.javaagent.extension.instrumentation.TypeTransformer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * An extension of OpenTelemetry's Java agent: handlers of XXL-JOB's executor continue the trace of the request that asked for their run.
 * Without it the agent sees that request, and the handler, but not that they are one: a run goes from one thread to another through a queue.
 */
public class XxlJobTrace extends InstrumentationModule {
    public XxlJobTrace() {
        super("punctual-xxl-job");
    }

    @Override
    public List<TypeInstrumentation> typeInstrumentations() {
        return Arrays.asList(new Queued(), new Begun());
    }

    @Override
    public boolean isHelperClass(String name) {
        return name.startsWith("punctual.");
    }

    @Override
    public List<String> getAdditionalHelperClassNames() {
        return Collections.singletonList("punctual.Requests");
    }

    /** A request puts its run into the queue of the job's thread. */
    public static class Queued implements TypeInstrumentation {
        @Override
        public ElementMatcher<TypeDescription> typeMatcher() {
            return named("com.xxl.job.core.thread.JobThread");
        }

        @Override
        public void transform(TypeTransformer transformer) {
            transformer.applyAdviceToMethod(named("pushTriggerQueue"), Queued.class.getName() + "$Put");
        }

        public static class Put {
            @Advice.OnMethodEnter(suppress = Throwable.class)
            public static void put(@Advice.Argument(0) Object run) throws Exception {
                Requests.put(run, Context.current());
            }
        }
    }

    /** The job's thread is about to call the handler. */
    public static class Begun implements TypeInstrumentation {
        @Override
        public ElementMatcher<TypeDescription> typeMatcher() {
            return named("com.xxl.job.core.context.XxlJobContext");
        }

        @Override
        public void transform(TypeTransformer transformer) {
            transformer.applyAdviceToMethod(named("setXxlJobContext").and(isStatic()), Begun.class.getName() + "$Begin");
        }

        public static class Begin {
            @Advice.OnMethodEnter(suppress = Throwable.class)
            public static void begin(@Advice.Argument(0) Object run) throws Exception {
                Requests.begin(run);
            }
        }
    }
}
