/** The step that creates an endpoint. */
import { inNamespace, operationColumns, samples } from "../scene/names.ts";
import { kubectl, secondsSince } from "../scene/narrate.ts";
import { isSettled } from "../scene/row-checks.ts";
import type { Step } from "../scene/story.ts";
import { RowWatch } from "../scene/watch-rows.ts";

/** Creates a resource with `kubectl apply`, and waits until its endpoint runs. */
export const create: Step = {
  title: "An endpoint comes up",
  async play(story) {
    const watch = new RowWatch(story, operationColumns("--watch"));
    const startMs = performance.now();
    await kubectl(story, ["apply", "-f", samples.namespaceFile, "-f", samples.primaryFile]);
    await watch.show("orders is Ready, its start_compute seen in flight", (rows) =>
      isSettled(rows, samples.primary, "start_compute"),
    );
    story.terminal.success(`Ready in ${secondsSince(startMs)}; start_compute was seen in flight`);
    await kubectl(story, inNamespace("get", "cpe"));
  },
};
