/** Tests platforms, cache paths and checksums of binaries. */
import { describe, expect, it } from "vitest";
import { cacheDirectory, cachedPath } from "../../../tools/assets/asset-cache.ts";
import { describeError } from "../../../tools/assets/asset-error.ts";
import { assetNames, assetTable } from "../../../tools/assets/asset-table.ts";
import {
  actionlintRelease,
  alertmanagerRelease,
  cosignRelease,
  craneRelease,
  type DownloadQuery,
  envtestArchive,
  etcdRelease,
  helmRelease,
  kubernetesRelease,
  officialHosts,
  parseDigest,
  prometheusRelease,
} from "../../../tools/assets/download-sources.ts";
import { isGoUsable } from "../../../tools/assets/go-build.ts";
import { currentPlatform } from "../../../tools/assets/platform.ts";

const linux = { os: "linux", arch: "amd64" } as const;
const darwin = { os: "darwin", arch: "arm64" } as const;

function query(overrides: Partial<DownloadQuery>, texts: Readonly<Record<string, string>>): DownloadQuery {
  const fetchText = async (url: string) => {
    const text = texts[url];
    if (text === undefined) throw new Error(`unexpected ${url}`);
    return text;
  };
  return { name: "kube-apiserver", version: "v1.2.3", platform: linux, hosts: officialHosts, fetchText, ...overrides };
}

describe("currentPlatform", () => {
  it("Linux or macOS on x64 or arm64 → Go's words for them", () => {
    expect(currentPlatform("linux", "x64")).toEqual(linux);
    expect(currentPlatform("darwin", "arm64")).toEqual(darwin);
  });

  it.each([
    ["win32", "x64"],
    ["linux", "riscv64"],
  ])("%s on %s → a clear refusal", (os, arch) => {
    expect(() => currentPlatform(os, arch)).toThrow(`for ${os} on ${arch}`);
  });
});

describe("cacheDirectory", () => {
  it.each([
    [{ XDG_CACHE_HOME: "/x", HOME: "/h" }, "linux", "/x/endpoint-operator/assets"],
    [{ XDG_CACHE_HOME: "/x", HOME: "/h" }, "darwin", "/x/endpoint-operator/assets"],
    [{ HOME: "/h" }, "linux", "/h/.cache/endpoint-operator/assets"],
    [{ XDG_CACHE_HOME: "", HOME: "/h" }, "linux", "/h/.cache/endpoint-operator/assets"],
    [{ XDG_CACHE_HOME: "relative", HOME: "/h" }, "linux", "/h/.cache/endpoint-operator/assets"],
    [{ HOME: "/h" }, "darwin", "/h/Library/Caches/endpoint-operator/assets"],
  ] as const)("%o on %s → %s", (env, os, directory) => {
    expect(cacheDirectory(env, os)).toBe(directory);
  });

  it("two versions or platforms of a binary → two places", () => {
    const places = [
      cachedPath("/c", assetTable.etcd, linux),
      cachedPath("/c", assetTable.etcd, darwin),
      cachedPath("/c", { ...assetTable.etcd, version: "v9.9.9" }, linux),
    ];
    expect(new Set(places).size).toBe(3);
  });
});

describe("isGoUsable", () => {
  it.each([
    ["go1.26.0", "local", true],
    ["go1.26.8", "local", true],
    ["go1.27rc1", "local", true],
    ["go2.0", "local", true],
    ["go1.25.9", "local", false],
    ["go1.25.9", "auto", true],
    ["go1.21.0", "auto", true],
    ["go1.20.14", "auto", false],
    ["devel +abc", "local", false],
    ["", "", false],
  ])("%s with toolchain %s → %s", (version, toolchain, usable) => {
    expect(isGoUsable(version, toolchain)).toBe(usable);
  });
});

describe("parseDigest", () => {
  const digest = "a".repeat(64);

  it("a bare digest → itself, in lower case", () => {
    expect(parseDigest(`${digest.toUpperCase()}\n`, undefined, 64)).toBe(digest);
  });

  it("a list → the one beside the exact name, text or binary mode", () => {
    const list = `${"b".repeat(64)}  etcd.tar.gz.asc\n${digest}  etcd.tar.gz\n${"c".repeat(64)} *etcd.zip\n`;
    expect(parseDigest(list, "etcd.tar.gz", 64)).toBe(digest);
    expect(parseDigest(list, "etcd.zip", 64)).toBe("c".repeat(64));
    expect(parseDigest(list, "etcd", 64)).toBeUndefined();
  });

  it("a page of HTML, a shorter digest → none", () => {
    expect(parseDigest("<html>not found</html>", undefined, 64)).toBeUndefined();
    expect(parseDigest(digest, undefined, 128)).toBeUndefined();
  });
});

describe("download sources", () => {
  const sha512 = "d".repeat(128);

  it("Kubernetes' release host → the bare binary with its SHA-512", async () => {
    const url = "https://dl.k8s.io/release/v1.2.3/bin/linux/amd64/kube-apiserver";
    const location = await kubernetesRelease(query({}, { [`${url}.sha512`]: sha512 }));
    expect(location).toEqual({ url, algorithm: "sha512", digest: sha512 });
  });

  it("Kubernetes' release host, macOS → kubectl only", async () => {
    expect(await kubernetesRelease(query({ platform: darwin }, {}))).toBeUndefined();
    const url = "https://dl.k8s.io/release/v1.2.3/bin/darwin/arm64/kubectl";
    const kubectl = query({ name: "kubectl", platform: darwin }, { [`${url}.sha512`]: sha512 });
    expect(await kubernetesRelease(kubectl)).toMatchObject({ url });
  });

  it("Kubernetes' release host, nonsense in place of a digest → an error, not an unchecked download", async () => {
    const url = "https://dl.k8s.io/release/v1.2.3/bin/linux/amd64/kube-apiserver.sha512";
    await expect(kubernetesRelease(query({}, { [url]: "<html/>" }))).rejects.toThrow("no SHA-512");
  });

  it.each([
    [linux, "etcd-v1.2.3-linux-amd64", "tar.gz"],
    [darwin, "etcd-v1.2.3-darwin-arm64", "zip"],
  ])("etcd's releases on %o → the archive %s.%s", async (platform, stem, extension) => {
    const base = `${officialHosts.etcd}/v1.2.3`;
    const sums = `${"e".repeat(64)}  ${stem}.${extension}\n`;
    const location = await etcdRelease(query({ name: "etcd", platform }, { [`${base}/SHA256SUMS`]: sums }));
    expect(location).toEqual({
      url: `${base}/${stem}.${extension}`,
      algorithm: "sha256",
      digest: "e".repeat(64),
      member: `${stem}/etcd`,
    });
  });

  it.each([
    ["prometheus", "promtool", prometheusRelease],
    ["alertmanager", "alertmanager", alertmanagerRelease],
  ] as const)("the releases of %s → their one archive, with %s in it", async (project, name, release) => {
    const base = `${officialHosts[project]}/v1.2.3`;
    const stem = `${project}-1.2.3.darwin-arm64`;
    const sums = { [`${base}/sha256sums.txt`]: `${"f".repeat(64)}  ${stem}.tar.gz\n` };
    expect(await release(query({ name, platform: darwin }, sums))).toEqual({
      url: `${base}/${stem}.tar.gz`,
      algorithm: "sha256",
      digest: "f".repeat(64),
      member: `${stem}/${name}`,
    });
    expect(await release(query({ name, platform: linux }, sums)), "not in the list").toBeUndefined();
  });

  it.each([
    [
      "helm",
      helmRelease,
      "helm-v1.2.3-linux-amd64.tar.gz.sha256sum",
      "helm-v1.2.3-linux-amd64.tar.gz",
      "linux-amd64/helm",
    ],
    ["cosign", cosignRelease, "v1.2.3/cosign_checksums.txt", "v1.2.3/cosign-linux-amd64", undefined],
    ["crane", craneRelease, "v1.2.3/checksums.txt", "v1.2.3/go-containerregistry_Linux_x86_64.tar.gz", "crane"],
    [
      "actionlint",
      actionlintRelease,
      "v1.2.3/actionlint_1.2.3_checksums.txt",
      "v1.2.3/actionlint_1.2.3_linux_amd64.tar.gz",
      "actionlint",
    ],
  ] as const)(
    "the releases of %s → the file for the platform, or none that is not listed",
    async (name, release, list, file, member) => {
      const base = officialHosts[name];
      const fileName = file.split("/").at(-1);
      const listed = query({ name }, { [`${base}/${list}`]: `${"a".repeat(64)}  ${fileName}\n` });
      const location = { url: `${base}/${file}`, algorithm: "sha256", digest: "a".repeat(64) };
      expect(await release(listed)).toEqual(member === undefined ? location : { ...location, member });
      const absent = query({ name }, { [`${base}/${list}`]: `${"a".repeat(64)}  other\n` });
      expect(await release(absent), "not in the list").toBeUndefined();
    },
  );

  it("the envtest index → the archive of exactly this version and platform, or none", async () => {
    const index = `releases:
  v1.2.3:
    envtest-v1.2.3-darwin-arm64.tar.gz:
      hash: ${sha512}
      selfLink: https://example.test/envtest.tar.gz
`;
    const texts = { [officialHosts.envtestIndex]: index };
    expect(await envtestArchive(query({ platform: darwin }, texts))).toEqual({
      url: "https://example.test/envtest.tar.gz",
      algorithm: "sha512",
      digest: sha512,
      member: "controller-tools/envtest/kube-apiserver",
    });
    expect(await envtestArchive(query({ platform: linux }, texts))).toBeUndefined();
    expect(await envtestArchive(query({ platform: darwin, version: "v1.2.4" }, texts))).toBeUndefined();
  });
});

describe("describeError", () => {
  it("undici's wrapper → the reason inside", () => {
    expect(describeError(new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND x") }))).toBe(
      "getaddrinfo ENOTFOUND x",
    );
  });

  it("an error without a message → its code", () => {
    expect(describeError(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))).toBe("ECONNREFUSED");
  });
});

describe("assetTable", () => {
  it("each row → under its own name, with an exact version and a way to build it", () => {
    for (const name of assetNames) {
      const { version, build } = assetTable[name];
      expect(assetTable[name].name).toBe(name);
      expect(version).toMatch(/^v\d+\.\d+\.\d+$/);
      expect(build.packagePath).not.toBe("");
    }
  });
});
