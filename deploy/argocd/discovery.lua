-- Says which actions Argo CD offers on a ComputeEndpoint.
local annotations = obj.metadata.annotations or {}
local failed = obj.status ~= nil and obj.status.failedActions ~= nil and #obj.status.failedActions > 0
local paused = annotations["endpoint-operator.dev/paused"] == "true"

return {
  reconcile = { disabled = false },
  pause = { disabled = paused },
  resume = { disabled = not paused },
  ["acknowledge-failure"] = { disabled = not failed },
}
