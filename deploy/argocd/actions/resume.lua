-- Lets the operator work on the resource again.
if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["endpoint-operator.dev/paused"] = nil
end
return obj
