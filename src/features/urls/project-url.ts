import { z } from 'zod';
import { type ProjectAllow, parseProjectAllow } from '../../config/project-allow.ts';
import { parseEgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { invalidField } from '../../errors.ts';
import { type OpeningSetting, refusalOf } from './refusal.ts';
import { targetUrlInput } from './stored-url.ts';

export type ProjectUrls = ReturnType<typeof createUpstreamUrls>;
/** The rule for a URL, as part of the rules for an input. */
export type UrlInput = { input: z.ZodType<string> };

/**
 * Checks URLs that this service calls for a project. They must meet the rules for all of its URLs, or be allowed for the
 * project. The message doesn't reveal whether a URL is allowed for another project.
 *
 * @param setting the one that `allow` comes from.
 */
function createProjectUrls(allow: ProjectAllow, setting: OpeningSetting) {
  return {
    /** Accepts the URLs that are allowed for at least one project. */
    input: targetUrlInput(allow.any, setting),

    /** @throws AppError `VALIDATION_FAILED` if the URL isn't allowed for this project. */
    check(projectId: string, url: string, pointer: string): void {
      const result = checkTargetUrl(url, allow.of(projectId));
      if (!result.ok) throw invalidField(pointer, refusalOf(result, setting));
    },
  };
}

/** For rules that describe the API without a server's configuration: no private addresses. */
export const NO_OPENINGS = parseProjectAllow('', parseEgressAllow(''));

/** The URLs that webhooks can have. */
export const createWebhookUrls = (allow: ProjectAllow) => createProjectUrls(allow, 'WEBHOOK_ALLOW');

/**
 * Limits for an upstream URL's query, because the gateway compares it with each request's query. URLs that were saved
 * without these limits keep working.
 */
const MAX_QUERY_PARAMETERS = 50;
const MAX_QUERY_SEPARATORS = 200;
/** Dots and brackets, which can make nested parameters, and the start of other escapes that can stand for them. */
const SEPARATORS = /[.[\]]|%(?:2e|5b|5d|u)/gi;

/** The URLs that endpoints' upstreams and projects' headers can have. */
export function createUpstreamUrls(allow: ProjectAllow) {
  const urls = createProjectUrls(allow, 'UPSTREAM_ALLOW');
  const withinLimits = z.string().superRefine((url, context) => {
    const message = queryProblemOf(url);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
  return { ...urls, input: urls.input.pipe(withinLimits) };
}

function queryProblemOf(url: string): string | undefined {
  const { search } = new URL(url);
  if (search.split(/[&;]/).length > MAX_QUERY_PARAMETERS)
    return `Must have at most ${MAX_QUERY_PARAMETERS} query parameters.`;
  const isNested = (search.match(SEPARATORS)?.length ?? 0) > MAX_QUERY_SEPARATORS;
  return isNested ? `Must have at most ${MAX_QUERY_SEPARATORS} dots and brackets in the query.` : undefined;
}
