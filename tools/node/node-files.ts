/** The configuration files of a node. */
import { stringify } from "yaml";

/** The node's address in its network namespace. Nothing outside can reach it. */
export const nodeAddress = "10.77.0.1";
/** The first address of the API server's service range: that of the service `kubernetes`. */
export const serviceAddress = "10.0.0.1";
/** The image that keeps the namespaces of every pod. */
export const pauseImage = "docker.io/library/pause:1";

/** The paths of one node, below its directory. */
export interface NodePlaces {
  readonly directory: string;
  /** The name of the cgroup of all pods. */
  readonly cgroup: string;
}

/** Returns the address of containerd's socket. Pure. */
export function containerdSocket({ directory }: NodePlaces): string {
  return `${directory}/containerd.sock`;
}

/** Returns the configuration of containerd 1.6. Pure. */
export function containerdConfig(places: NodePlaces): string {
  const { directory } = places;
  return `version = 2
root = "${directory}/containerd"
state = "${directory}/containerd-state"
oom_score = 0
[grpc]
  address = "${containerdSocket(places)}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_selinux = false
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${directory}/cni"
`;
}

/** Returns the configuration of a bridge for the pods. They reach only the node's addresses. Pure. */
export function networkConfig({ directory }: NodePlaces): string {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: "10.88.0.0/24" }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: `${directory}/cni-addresses`,
  };
  const bridge = { type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, ipam };
  return JSON.stringify({ cniVersion: "0.4.0", name: "pods", plugins: [bridge] });
}

/** Returns the configuration of a kubelet on a node without systemd, kube-proxy and DNS. Pure. */
export function kubeletConfig(places: NodePlaces): string {
  return stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${places.cgroup}`,
    containerRuntimeEndpoint: `unix://${containerdSocket(places)}`,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    oomScoreAdj: 0,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    makeIPTablesUtilChains: false,
    podLogsDir: `${places.directory}/pod-logs`,
    resolvConf: "",
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 99,
    imageGCLowThresholdPercent: 98,
    address: nodeAddress,
    healthzBindAddress: "127.0.0.1",
  });
}
