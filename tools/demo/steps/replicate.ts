/** The step that creates read replicas. */
import { operationColumns, samples } from "../scene/names.ts";
import { kubectl, secondsSince } from "../scene/narrate.ts";
import { isSettled } from "../scene/row-checks.ts";
import type { Step } from "../scene/story.ts";
import { RowWatch } from "../scene/watch-rows.ts";

/** Creates read replicas of one branch. The control plane carries out one change of a project at a time. */
export const replicate: Step = {
  title: "Three read replicas follow",
  async play(story) {
    const watch = new RowWatch(story, operationColumns("--watch"));
    await watch.started();
    const startMs = performance.now();
    await kubectl(story, ["apply", "-f", samples.replicasFile]);
    await watch.show("three replicas are Ready", (rows) => samples.replicas.every((name) => isSettled(rows, name)));
    story.terminal.success(
      `all three Ready in ${secondsSince(startMs)}, one create at a time: the control plane locks the project`,
    );
  },
};
