/** The actions of people and other clients in a run. */
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import type { EndpointChanges, EndpointCreation } from "../ports.ts";

/** The control planes of runs: a ControlPlane in the namespace of the run, and a ClusterControlPlane. */
export type PlaneName = "own" | "shared";

export type BranchChange = "Delete" | "Protect" | "AddChild";

/**
 * One action of a person, of another client or of the world in a run. It is plain data, so that a run can be printed
 * and shortened.
 */
export type Action =
  | { readonly kind: "Apply"; readonly name: string; readonly spec: JsonObject }
  | { readonly kind: "Delete"; readonly name: string }
  /** Deletes the resource, and creates it again with the same name as soon as it is gone. */
  | { readonly kind: "Recreate"; readonly name: string; readonly spec: JsonObject }
  | { readonly kind: "Annotate"; readonly name: string; readonly annotations: Readonly<Record<string, string | null>> }
  /** Acts like a backup tool: it restores the object without its status and with another uid. */
  | { readonly kind: "RestoreWithoutStatus"; readonly name: string }
  /** The status is lost, for instance when the object is replaced by one without it. The uid stays. */
  | { readonly kind: "LoseStatus"; readonly name: string }
  /** A DatabaseAccess. */
  | { readonly kind: "ApplyAccess"; readonly name: string; readonly spec: JsonObject }
  | {
      readonly kind: "AnnotateAccess";
      readonly name: string;
      readonly annotations: Readonly<Record<string, string | null>>;
    }
  | { readonly kind: "DeleteAccess"; readonly name: string }
  /** A DatabaseBranch. */
  | { readonly kind: "ApplyBranch"; readonly name: string; readonly spec: JsonObject }
  | {
      readonly kind: "AnnotateBranch";
      readonly name: string;
      readonly annotations: Readonly<Record<string, string | null>>;
    }
  | { readonly kind: "DeleteBranch"; readonly name: string }
  | { readonly kind: "LoseBranchStatus"; readonly name: string }
  /** Another client changes the branch of a DatabaseBranch. */
  | { readonly kind: "PersonChangesBranch"; readonly name: string; readonly change: BranchChange }
  /** Every branch of a DatabaseBranch loses its protection and its children. */
  | { readonly kind: "PersonFreesBranches" }
  | { readonly kind: "DeleteSecret"; readonly name: string }
  /** Another client makes a role. */
  | { readonly kind: "PersonCreatesRole"; readonly branchId: string; readonly roleName: string }
  /** Another client gives the role another password. */
  | { readonly kind: "PersonResets"; readonly branchId: string; readonly roleName: string }
  /** A ControlPlane or ClusterControlPlane. */
  | { readonly kind: "ApplyPlane"; readonly plane: PlaneName; readonly spec: JsonObject }
  | { readonly kind: "DeletePlane"; readonly plane: PlaneName }
  /** Many ControlPlanes of another namespace. */
  | { readonly kind: "ApplyCrowdOfPlanes"; readonly count: number; readonly spec: JsonObject }
  /** Writes the Secret of a control plane. The key is named by its number, so that no log shows it. */
  | { readonly kind: "ApplyKey"; readonly plane: PlaneName; readonly key: number }
  | { readonly kind: "DeleteKey"; readonly plane: PlaneName }
  /** From now on an account accepts these keys only. */
  | { readonly kind: "AcceptKeys"; readonly url: string; readonly keys: readonly number[] }
  /** An administrator of the cluster annotates the Namespace; `null` removes the annotation. */
  | { readonly kind: "Grant"; readonly projects: string | null }
  | { readonly kind: "PersonCreates"; readonly projectId: string; readonly creation: EndpointCreation }
  /** Another cluster's operator makes an endpoint. */
  | { readonly kind: "OtherClusterCreates"; readonly branchId: string; readonly name: string }
  | { readonly kind: "PersonChanges"; readonly branchId: string; readonly changes: EndpointChanges }
  | { readonly kind: "PersonDeletes"; readonly branchId: string }
  | { readonly kind: "PersonSuspends"; readonly branchId: string }
  /** An application connects: an idle compute starts, and an active one does not become idle for a while. */
  | { readonly kind: "PersonConnects"; readonly branchId: string }
  /** Annotates the resource with the hash of the change that waits. */
  | { readonly kind: "PersonApproves"; readonly name: string }
  | { readonly kind: "PersonStarts"; readonly branchId: string }
  /** Deletes the endpoint, and creates another one of the same branch and type. */
  | { readonly kind: "PersonReplaces"; readonly branchId: string }
  /** The control plane checks the endpoint so many times. */
  | { readonly kind: "Maintain"; readonly branchId: string; readonly count: number }
  | { readonly kind: "FailNext"; readonly action: "start_compute" | "apply_config" | "suspend_compute" }
  /**
   * A project is moved to an account that the key cannot reach: every call about it is refused with this status. `null`:
   * the project is back.
   */
  | { readonly kind: "Transfer"; readonly projectId: string; readonly status: 403 | 404 | null }
  | { readonly kind: "ListLag"; readonly lagMs: number }
  | {
      readonly kind: "DisguiseNext";
      readonly status?: string;
      readonly isBroken?: boolean;
    }
  | { readonly kind: "Unreadable"; readonly branchId: string; readonly isOn: boolean }
  | { readonly kind: "WatchLag"; readonly lagMs: number }
  | { readonly kind: "WatchMute"; readonly replica: number }
  | { readonly kind: "WatchBreak" }
  /** The watches end in the middle of the line of their next event. */
  | { readonly kind: "WatchCut"; readonly cut: "Reset" | "End" }
  | { readonly kind: "WatchLoss"; readonly lostPerMille: number; readonly repeatedPerMille: number }
  | { readonly kind: "Compact" }
  | { readonly kind: "Crash"; readonly replica: number }
  /** The process is asked to stop, as by SIGTERM. */
  | { readonly kind: "Stop"; readonly replica: number }
  | { readonly kind: "Pause"; readonly replica: number; readonly durationMs: number }
  | {
      readonly kind: "Cut";
      readonly replica: number;
      readonly server: "API server" | "control plane";
      readonly isOn: boolean;
    };

/** An action and its time. */
export interface Step {
  /** True milliseconds since the start of the run. */
  readonly atMs: number;
  readonly action: Action;
}
