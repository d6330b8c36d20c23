/** Projects. */
import { z } from "zod";
import type { ProjectRecord } from "../../engine/records.ts";
import { branchView, newBranchView } from "../codecs/branch.ts";
import { objectId } from "../codecs/codec.ts";
import { operationViews } from "../codecs/operation.ts";
import { endpointDefaultsOf, projectCreateBody, projectUpdateBody, projectView } from "../codecs/project.ts";
import { pageOf, pageQuery, queryInteger } from "../parts/lists.ts";
import type { PublicApi } from "./public-api.ts";

/** The query of the list. The parameter `timeout` has no effect, because the sandbox answers at once. */
const sharedQuery = pageQuery(400).extend({ timeout: queryInteger(100, 30_000).optional() });

const projectQuery = sharedQuery.extend({
  org_id: objectId.optional(),
  recoverable: z.enum(["true", "false"]).optional(),
});

/** Other fields of the real answer that never have anything to show. */
const noApplications = { applications: {}, integrations: {} };

export function projectRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const view = (project: ProjectRecord) => projectView(project, engine);
  api.play("listProjects", { query: projectQuery }, ({ query, key }) => {
    const { org_id: orgId, recoverable } = query;
    const only = key?.projectId;
    const all = recoverable === "true" ? engine.restores.recoverableProjects() : engine.projects();
    const visible = all.filter(
      (project) => (only === undefined || project.id === only) && (orgId === undefined || project.orgId === orgId),
    );
    const { items, pagination } = pageOf(visible, { limit: engine.profile.projectsPerPage, ...query });
    return { projects: items.map(view), pagination, ...noApplications };
  });
  // There are never any.
  api.play("listSharedProjects", { query: sharedQuery }, () => ({ projects: [], ...noApplications }));
  api.play("getProject", {}, ({ ids }) => ({ project: view(engine.project(ids.projectId)) }));
  changeRoutes(api);
}

function changeRoutes(api: PublicApi): void {
  const { engine, computes } = api.parts;
  const { profile } = engine;
  const view = (project: ProjectRecord) => projectView(project, engine);
  const creation = { body: projectCreateBody(profile), isAccountWide: true };
  api.play("createProject", creation, ({ body: { project: asked } }) => {
    const { branch, autoscaling_limit_min_cu, autoscaling_limit_max_cu } = asked;
    const sizes = endpointDefaultsOf({ autoscaling_limit_min_cu, autoscaling_limit_max_cu });
    const defaults = endpointDefaultsOf(asked.default_endpoint_settings);
    const created = engine.createProject({
      name: asked.name,
      regionId: asked.region_id,
      pgVersion: asked.pg_version,
      historyRetentionSeconds: asked.history_retention_seconds,
      branchName: branch?.name,
      roleName: branch?.role_name,
      databaseName: branch?.database_name,
      annotation: branch?.annotations,
      orgId: asked.org_id,
      provisioner: asked.provisioner,
      storePasswords: asked.store_passwords,
      settings: asked.settings,
      // If the request gives a size both directly and in `default_endpoint_settings`, the direct one is used.
      endpointDefaults: sizes === undefined ? defaults : { ...defaults, ...sizes },
    });
    return { project: view(created.project), ...newBranchView(created, engine, computes?.address) };
  });
  api.play("updateProject", { body: projectUpdateBody(profile) }, ({ ids, body: { project: asked } }) => {
    const { project, operations } = engine.updateProject(ids.projectId, {
      name: asked.name,
      historyRetentionSeconds: asked.history_retention_seconds,
      settings: asked.settings,
      endpointDefaults: endpointDefaultsOf(asked.default_endpoint_settings),
    });
    return { project: view(project), operations: operationViews(operations, profile) };
  });
  api.play("recoverProject", { isAccountWide: true }, ({ ids }) => {
    const { project, branches } = engine.restores.recoverProject(ids.projectId);
    return { project: view(project), branches: branches.map((branch) => branchView(branch, engine)) };
  });
  api.play("deleteProject", { isAccountWide: true }, ({ ids }) => {
    const { project, operations } = engine.deleteProject(ids.projectId);
    const shown = view(project);
    if (!profile.operationsOfDeletedProject) return { project: shown };
    return { project: shown, operations: operationViews(operations, profile) };
  });
}
