/** The step in which an application connects. */
import { Application } from "../scene/application.ts";
import { shop } from "../scene/names.ts";
import { advanceClock, type Step, type Story } from "../scene/story.ts";

/** The suspend delay in the sample. */
const suspendSeconds = 300;

export const words = "hello from before the suspend";
export const read = "SELECT text FROM greeting";

/**
 * An application that has only its Secret connects, wakes the endpoint, and goes on after a rotation. The sandbox must
 * run computes.
 */
export const connect: Step = {
  title: "An application connects, and has nothing but its Secret",
  async play(story) {
    const { shell } = story;
    shell.say("A DatabaseAccess makes a role, a database and a Secret. The namespace allows the operator its Secrets:");
    const rights =
      "--clusterrole=endpoint-operator-secrets --serviceaccount=endpoint-operator-system:endpoint-operator";
    await shell.run(`kubectl create rolebinding endpoint-operator-secrets --namespace=shop ${rights}`);
    await shell.run("kubectl apply -f deploy/samples/orders-app.yaml");
    await shell.run(`kubectl ${shop} wait --for=condition=Ready dba/orders-app --timeout=60s`);
    shell.say("A kubelet would mount the Secret as a directory. Here the demo does that, for a process of its own:");
    const application = new Application(story);
    await application.mountSecret();
    application.start();
    try {
      await application.ask("host", `CREATE TABLE greeting AS SELECT '${words}' AS text`, "");
      await application.ask("pooled-host", read, words);
      await application.ask("read-host", read, words);
      await wakeIt(story, application);
      await rotate(story, application);
      await resizeWhenIdle(story, application);
    } finally {
      application.stop();
    }
    return "it connected, woke the endpoint, survived the rotation, and lost nothing to another size";
  },
};

async function wakeIt(story: Story, application: Application): Promise<void> {
  const { shell } = story;
  shell.say(`The clock jumps over ${suspendSeconds} s without a connection. The control plane suspends the compute:`);
  await advanceClock(story, suspendSeconds);
  await shell.run(`kubectl ${shop} wait --for=jsonpath='{.status.state}=idle' cpe/orders --timeout=60s`);
  shell.say("Its server has ended. The next connection starts it again and waits for it:");
  await application.ask("host", read, words);
}

async function rotate({ shell }: Story, application: Application): Promise<void> {
  shell.say("The password is rotated. The operator writes the new one into the Secret:");
  await shell.run(`kubectl ${shop} annotate dba orders-app endpoint-operator.dev/rotate-requested-at=now`);
  await application.mountSecret();
  const output = await application.ask("host", read, words);
  if (!output.includes("the password is refused")) throw new Error("the old password still works");
}

/** The policy WhenIdle holds a size back while the application is connected, and costs it no connection. */
async function resizeWhenIdle(story: Story, application: Application): Promise<void> {
  const { shell } = story;
  shell.say(
    "Another size would drop connections, so this resource lets it wait. The application is connected meanwhile:",
  );
  const held = application.ask("host", `SELECT '${words}' FROM pg_sleep(4)`, words);
  const change = `-p='{"spec":{"disruption":{"when":"WhenIdle"},"compute":{"minUnits":0.5,"maxUnits":2}}}'`;
  await shell.run(`kubectl ${shop} patch cpe orders --type=merge ${change}`);
  await shell.run(`kubectl ${shop} wait --for=condition=ChangePending cpe/orders --timeout=60s`);
  await held;
  shell.say(
    "The application has its answer, and nobody is connected. The operator sends the size when the compute is idle:",
  );
  await advanceClock(story, suspendSeconds);
  await shell.run(`kubectl ${shop} wait --for=jsonpath='{.status.compute.size}'=0.5-2 cpe/orders --timeout=60s`);
  shell.say("From now on, sizes are sent at once again. The next connection starts the compute:");
  await shell.run(`kubectl ${shop} patch cpe orders --type=merge -p='{"spec":{"disruption":null}}'`);
  await application.ask("host", read, words);
}
