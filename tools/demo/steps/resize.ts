/** The step that changes a size. */
import { inNamespace, operationColumns, samples } from "../scene/names.ts";
import { eventsUntil, kubectl, secondsSince } from "../scene/narrate.ts";
import { isSettled } from "../scene/row-checks.ts";
import type { Step } from "../scene/story.ts";
import { RowWatch } from "../scene/watch-rows.ts";

const newSize = JSON.stringify({ spec: { compute: { minUnits: 0.5, maxUnits: 4 } } });

/** Shows that another size restarts the compute, and that an event announces it. */
export const resize: Step = {
  title: "Another size restarts the compute",
  async play(story) {
    const watch = new RowWatch(story, operationColumns(samples.primary, "--watch"));
    await watch.started();
    const startMs = performance.now();
    await kubectl(story, inNamespace("patch", "cpe", samples.primary, "--type=merge", `-p=${newSize}`));
    await watch.show("the compute was suspended and started again", (rows) =>
      isSettled(rows, samples.primary, "suspend_compute", "start_compute"),
    );
    story.terminal.success(`restarted and Ready in ${secondsSince(startMs)}; the event came before the restart:`);
    await eventsUntil(story, "EndpointRestarting", "REASON:.reason,MESSAGE:.message");
  },
};
