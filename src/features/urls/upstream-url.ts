import { z } from 'zod';
import type { UpstreamAllow } from '../../config/upstream-allow.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { invalidField } from '../../errors.ts';
import { refusalOf } from './refusal.ts';

/**
 * Limits for an upstream URL's query, because the gateway compares it with each request's query. URLs that were saved
 * without these limits keep working.
 */
const MAX_QUERY_PARAMETERS = 50;
const MAX_QUERY_SEPARATORS = 200;
/** Dots and brackets, which can make nested parameters, and the start of other escapes that can stand for them. */
const SEPARATORS = /[.[\]]|%(?:2e|5b|5d|u)/gi;

export type UpstreamUrls = ReturnType<typeof createUpstreamUrls>;

/**
 * Checks the upstream URLs of endpoints and of projects' headers. They must meet the rules for all URLs that this
 * service calls, or be allowed for the project. The message doesn't reveal whether a URL is allowed for another
 * project.
 */
export function createUpstreamUrls(allow: UpstreamAllow) {
  return {
    /** Accepts the URLs that are allowed for at least one project. */
    input: z.string().transform((text, context) => {
      const message = problemOf(text, allow.any) ?? queryProblemOf(text);
      if (message === undefined) return text;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }),

    /** @throws AppError `VALIDATION_FAILED` if the URL isn't allowed for this project. */
    check(projectId: string, url: string, pointer = '/upstreamUrl'): void {
      const message = problemOf(url, allow.of(projectId));
      if (message !== undefined) throw invalidField(pointer, message);
    },
  };
}

function problemOf(url: string, allow: EgressAllow): string | undefined {
  const result = checkTargetUrl(url, allow);
  return result.ok ? undefined : refusalOf(result, 'UPSTREAM_ALLOW');
}

function queryProblemOf(url: string): string | undefined {
  const { search } = new URL(url);
  if (search.split(/[&;]/).length > MAX_QUERY_PARAMETERS)
    return `Must have at most ${MAX_QUERY_PARAMETERS} query parameters.`;
  const isNested = (search.match(SEPARATORS)?.length ?? 0) > MAX_QUERY_SEPARATORS;
  return isNested ? `Must have at most ${MAX_QUERY_SEPARATORS} dots and brackets in the query.` : undefined;
}
