-- Asks the operator to reconcile the resource now.
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["endpoint-operator.dev/reconcile-requested-at"] = tostring(os.time())
return obj
