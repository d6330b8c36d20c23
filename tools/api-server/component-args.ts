/** The command lines of etcd, kube-apiserver and kube-controller-manager. */
import path from "node:path";

/** Every file of one API server, under its data directory. */
export interface ApiServerFiles {
  readonly etcdData: string;
  /** The directory into which kube-apiserver writes its certificate. The file also holds the CA that signed it. */
  readonly certificates: string;
  readonly caFile: string;
  readonly tokenFile: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
  readonly kubeconfig: string;
  readonly logs: Readonly<Record<ComponentName, string>>;
}

/** The processes of a Kubernetes control plane. */
export type ComponentName = "etcd" | "kube-apiserver" | "kube-controller-manager";

/** The loopback ports of one API server. */
export interface ApiServerPorts {
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
}

/** Returns the paths of all files below a data directory. */
export function apiServerFiles(dataDirectory: string): ApiServerFiles {
  const at = (...names: string[]) => path.join(dataDirectory, ...names);
  return {
    etcdData: at("etcd"),
    certificates: at("certificates"),
    caFile: at("certificates", "apiserver.crt"),
    tokenFile: at("tokens.csv"),
    serviceAccountKey: at("service-account.key"),
    serviceAccountPublicKey: at("service-account.pub"),
    auditPolicy: at("audit-policy.yaml"),
    auditLog: at("audit.log"),
    kubeconfig: at("kubeconfig.yaml"),
    logs: {
      etcd: at("etcd.log"),
      "kube-apiserver": at("kube-apiserver.log"),
      "kube-controller-manager": at("kube-controller-manager.log"),
    },
  };
}

/** Returns the arguments of etcd. The data is thrown away, so etcd does not flush it to disk. */
export function etcdArgs(files: ApiServerFiles, ports: ApiServerPorts): readonly string[] {
  const clientUrl = `http://127.0.0.1:${ports.etcdClient}`;
  const peerUrl = `http://127.0.0.1:${ports.etcdPeer}`;
  return [
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

/**
 * Returns the arguments of kube-apiserver, as in a cluster: RBAC, default admission, service-account tokens, an audit
 * log.
 */
export function kubeApiServerArgs(files: ApiServerFiles, ports: ApiServerPorts): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcdClient}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${ports.apiServer}`,
    `--cert-dir=${files.certificates}`,
    "--authorization-mode=RBAC",
    `--token-auth-file=${files.tokenFile}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    // An Endpoints object cannot hold a loopback address, and no program here reads one.
    "--endpoint-reconciler-type=none",
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    // The API server writes each entry before it sends the answer, so that a test can read the entry at once.
    "--audit-log-mode=blocking",
    // In megabytes. There is only one file, because a reader must not miss entries of an earlier one.
    "--audit-log-maxsize=100000",
  ];
}

/**
 * Returns the arguments of kube-controller-manager. It runs the controllers that remove deleted objects and that fill
 * the roles `view` and `edit`.
 */
export function kubeControllerManagerArgs(files: ApiServerFiles): readonly string[] {
  return [
    `--kubeconfig=${files.kubeconfig}`,
    "--controllers=namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller",
    "--leader-elect=false",
    "--secure-port=0",
    "--concurrent-namespace-syncs=2",
    "--concurrent-gc-syncs=2",
  ];
}
