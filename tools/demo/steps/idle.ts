/** The step that shows a suspended compute. */
import { inNamespace, samples } from "../scene/names.ts";
import { advanceClock, kubectl, secondsSince } from "../scene/narrate.ts";
import type { Step } from "../scene/story.ts";

/** Shows that a suspended compute is healthy. */
export const idle: Step = {
  title: "An idle endpoint stays Ready",
  async play(story) {
    const { terminal } = story;
    const startMs = performance.now();
    terminal.say(
      `${samples.sleeper} suspends after ${samples.sleeperSuspendSeconds} s without activity. Here the clock jumps over them:`,
    );
    await advanceClock(story, samples.sleeperSuspendSeconds);
    await kubectl(
      story,
      inNamespace("wait", "--for=jsonpath={.status.state}=idle", `cpe/${samples.sleeper}`, "--timeout=60s"),
    );
    await kubectl(story, inNamespace("wait", "--for=condition=Ready", `cpe/${samples.sleeper}`, "--timeout=60s"));
    await kubectl(story, inNamespace("get", "cpe"));
    terminal.success(`${samples.sleeper} is idle and Ready (${secondsSince(startMs)})`);
  },
};
