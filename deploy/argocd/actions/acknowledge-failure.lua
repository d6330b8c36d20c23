-- Says that a person has seen the first failure that status still shows.
local failures = obj.status ~= nil and obj.status.failedActions or nil
if failures ~= nil and #failures > 0 then
  obj.metadata.annotations = obj.metadata.annotations or {}
  obj.metadata.annotations["endpoint-operator.dev/acknowledge-operation"] = failures[1].operationId
end
return obj
