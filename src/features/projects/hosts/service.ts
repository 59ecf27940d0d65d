import { visibleProject } from '../../../auth/access.ts';
import { requirePermission } from '../../../auth/require-permission.ts';
import { requireProject } from '../../../auth/require-project.ts';
import type { IdentifyAgain, Viewer } from '../../../auth/viewer.ts';
import type { TenantDatabase } from '../../../database/tenant-client.ts';
import { belongingTo } from '../../../database/tenant-filter.ts';
import { AppError, notFound } from '../../../errors.ts';
import type { HostClaim, Project } from '../../../generated/prisma/client.ts';
import type { RateLimiter } from '../../../limits/rate-limit.ts';
import type { HostChecker } from './checks.ts';
import { type Hosts, shownHost } from './claims.ts';
import { challengePathOf, dnsRecordOf } from './proof.ts';

export const HOST_STATUSES = ['PENDING', 'ACTIVE', 'FAILING'] as const;

/** A project's custom host, and how its owner verifies it. Development hosts have no claim and nothing to publish. */
export type HostStatus = {
  host: string;
  status: (typeof HOST_STATUSES)[number];
  activeHost: string | null;
  verifiedAt: Date | null;
  lastCheckedAt: Date | null;
  nextCheckAt: Date | null;
  failingSince: Date | null;
  problem: string | null;
  dnsRecord: { name: string; value: string } | null;
  httpChallenge: { url: string; body: string } | null;
};
export type HostService = ReturnType<typeof createHostService>;

type HostOwner = Pick<Project, 'id' | 'createdAt'>;

const CHECKS_PER_MINUTE = 6;

/** Shows and checks projects' custom hosts. Methods throw AppError `NOT_FOUND`. */
export function createHostService(options: {
  db: Pick<TenantDatabase, 'prisma'>;
  checker: Pick<HostChecker, 'check'>;
  rateLimiter: Pick<RateLimiter, 'take'>;
}) {
  const { db, checker, rateLimiter } = options;

  function findClaim(project: HostOwner, host: string): Promise<HostClaim | null> {
    const where = belongingTo(project, { projectId_host: { projectId: project.id, host } });
    return db.prisma.hostClaim.findUnique({ where });
  }

  /** The status of a visible project's host, or null if it has none. */
  async function status(project: HostOwner & Hosts): Promise<HostStatus | null> {
    const host = shownHost(project);
    return host === null ? null : statusOf(project, host, await findClaim(project, host));
  }

  return {
    status,

    /**
     * Checks a project's host now.
     *
     * @returns the project afterward.
     * @throws AppError `RATE_LIMITED` for too many checks, or `FORBIDDEN` if the person's role has changed before the
     *   host's server responds.
     */
    async verify(viewer: Viewer, projectId: string, identifyAgain: IdentifyAgain): Promise<Project> {
      const where = visibleProject(viewer, projectId);
      const project = await db.prisma.project.findFirst({ where });
      if (!project) throw notFound();
      const host = shownHost(project);
      const claim = host === null ? null : await findClaim(project, host);
      if (!claim) return project;
      const { allowed, retryAfterSeconds } = await rateLimiter.take(`host ${projectId}`, CHECKS_PER_MINUTE);
      if (!allowed) throw new AppError('RATE_LIMITED', { retryAfterSeconds });
      await checker.check(claim, async () => {
        const now = await identifyAgain();
        await requireProject(db.prisma, now, projectId);
        requirePermission(now, projectId, 'MANAGE_HOSTS');
        return now;
      });
      const checked = await db.prisma.project.findFirst({ where });
      if (!checked) throw notFound();
      return checked;
    },
  };
}

function statusOf({ gatewayHost, claimedHost }: Hosts, host: string, claim: HostClaim | null): HostStatus {
  const { verifiedAt, lastCheckedAt, nextCheckAt, failingSince, problem, token } = claim ?? NO_CLAIM;
  return {
    host,
    activeHost: gatewayHost,
    verifiedAt,
    lastCheckedAt,
    nextCheckAt,
    failingSince,
    problem,
    status: claimedHost !== null ? 'PENDING' : failingSince ? 'FAILING' : 'ACTIVE',
    dnsRecord: token === null ? null : dnsRecordOf(host, token),
    httpChallenge: token === null ? null : { url: `https://${host}${challengePathOf(token)}`, body: token },
  };
}

const NO_CLAIM = {
  verifiedAt: null,
  lastCheckedAt: null,
  nextCheckAt: null,
  failingSince: null,
  problem: null,
  token: null,
};
