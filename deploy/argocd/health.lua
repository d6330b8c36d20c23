-- Health of each kind of the operator for Argo CD. It reads only metadata and status; the reasons are those of docs/conditions.md.

-- The operator tries these again by itself, but a person must repair the cause.
local broken = { Unauthorized = true }

local function conditions_by_type(status)
  local found = {}
  for _, condition in ipairs(status.conditions or {}) do
    found[condition.type] = condition
  end
  return found
end

local function health(status, condition)
  local message = condition.message or ""
  if condition.reason ~= nil then
    message = condition.reason .. ": " .. message
  end
  return { status = status, message = message }
end

local function of(resource)
  local conditions = conditions_by_type(resource.status or {})
  local ready = conditions.Ready
  if conditions.Stalled ~= nil and conditions.Stalled.status == "True" then
    return health("Degraded", conditions.Stalled)
  end
  if ready == nil then
    return { status = "Progressing", message = "The operator has not looked at this resource yet." }
  end
  if ready.reason == "Paused" then
    return health("Suspended", ready)
  end
  if broken[ready.reason] then
    return health("Degraded", ready)
  end
  if resource.metadata.deletionTimestamp ~= nil then
    return health("Progressing", conditions.Reconciling or ready)
  end
  if ready.observedGeneration ~= nil and ready.observedGeneration ~= resource.metadata.generation then
    return { status = "Progressing", message = "The operator has not compared the newest spec yet." }
  end
  if ready.status ~= "True" then
    return health("Progressing", ready)
  end
  -- Argo CD sets this annotation. Until the branch was reset, later waves would work on its former data.
  local asked = (resource.metadata.annotations or {})["endpoint-operator.dev/reset-requested-at"]
  if resource.kind == "DatabaseBranch" and asked ~= nil and asked ~= resource.status.lastHandledResetAt then
    return { status = "Progressing", message = "The branch was not reset yet, as its annotation asks." }
  end
  local last = conditions.LastOperationSucceeded
  if last ~= nil and last.status == "False" then
    return health("Degraded", last)
  end
  return health("Healthy", ready)
end

return of(obj)
