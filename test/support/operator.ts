import { DEV_ISSUER } from '../../src/auth/issuer-config.ts';
import type { TestUser } from './app.ts';

/** The environment variable that makes these dev issuer subjects operators. */
export const operatorsEnv = (...subjects: string[]): { OPERATORS: string } => ({
  OPERATORS: JSON.stringify(subjects.map((subject) => ({ issuer: DEV_ISSUER, subject }))),
});

export type OperatorUser = {
  id: string;
  issuer: string;
  subject: string;
  tier: string;
  requestsPerMinute: number | null;
  tierSetBy: string;
  isOperator: boolean;
  blockedAt: string | null;
  blockedReason: string | null;
};

export async function userIdOf(user: TestUser): Promise<string> {
  const { data } = await user.graphql<{ viewer: { user: { id: string } } }>('{ viewer { user { id } } }');
  return data!.viewer.user.id;
}
