/** The step in which an application connects. */
import { Application } from "../scene/application.ts";
import { inNamespace, samples } from "../scene/names.ts";
import type { Step, Story } from "../scene/story.ts";

/** The suspend delay in the sample. */
const suspendSeconds = 300;

const words = "hello from before the suspend";
const read = "SELECT text FROM greeting";

/**
 * An application that has only its Secret connects, wakes the endpoint, and goes on after a rotation. The sandbox must
 * run computes.
 */
export const connect: Step = {
  title: "An application connects, and has nothing but its Secret",
  async play(story) {
    story.say("A DatabaseAccess makes a role, a database and a Secret. The namespace allows the operator its Secrets:");
    const role = ["--clusterrole=endpoint-operator-secrets"];
    const account = ["--serviceaccount=endpoint-operator-system:endpoint-operator"];
    const binding = ["rolebinding", "endpoint-operator-secrets", `--namespace=${samples.namespace}`];
    await story.kubectl("create", ...binding, ...role, ...account);
    await story.kubectl("apply", "-f", samples.accessFile);
    await story.kubectl(...inNamespace("wait", "--for=condition=Ready", `dba/${samples.access}`, "--timeout=60s"));
    story.say("A kubelet would mount the Secret as a directory. Here the demo does that, for a process of its own:");
    const application = new Application(story);
    await application.mountSecret();
    application.start();
    try {
      await application.ask("host", `CREATE TABLE greeting AS SELECT '${words}' AS text`, "");
      await application.ask("pooled-host", read, words);
      await application.ask("read-host", read, words);
      await wakeIt(story, application);
      await rotate(story, application);
    } finally {
      application.stop();
    }
    return "it connected, woke the endpoint and survived the rotation";
  },
};

async function wakeIt(story: Story, application: Application): Promise<void> {
  story.say(`The clock jumps over ${suspendSeconds} s without a connection. The control plane suspends the compute:`);
  await story.advanceClock(suspendSeconds);
  const idle = ["--for=jsonpath={.status.state}=idle", `cpe/${samples.primary}`, "--timeout=60s"];
  await story.kubectl(...inNamespace("wait", ...idle));
  story.say("Its server has ended. The next connection starts it again and waits for it:");
  await application.ask("host", read, words);
}

async function rotate(story: Story, application: Application): Promise<void> {
  story.say("The password is rotated. The operator writes the new one into the Secret:");
  const annotation = "endpoint-operator.dev/rotate-requested-at=now";
  await story.kubectl(...inNamespace("annotate", "dba", samples.access, annotation));
  await application.mountSecret();
  const output = await application.ask("host", read, words);
  if (!output.includes("the password is refused")) throw new Error("the old password still works");
}
