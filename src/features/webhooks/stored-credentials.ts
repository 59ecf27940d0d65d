import { X509Certificate } from 'node:crypto';
import type { Values } from '../../audit/value-sizes.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import type { Transaction } from '../../database/client.ts';
import type { SealedWebhookCredentials, WebhookCredentials } from '../../delivery/send/webhook-credentials.ts';
import { Prisma, type Webhook } from '../../generated/prisma/client.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { type CredentialsInput, createCredentialsChange, NO_CREDENTIALS, shownCredentials } from './credentials.ts';

type Place = Pick<Webhook, 'id' | 'projectId' | 'url'>;

/** The fields of a webhook that are stored together, encrypted. */
export const CREDENTIAL_FIELDS = ['headers', 'authentication', 'clientCertificate', 'certificateAuthority'] as const;

/** Writes a webhook's headers, authentication, and certificates: masked for readers, and encrypted in full. */
export function createStoredCredentials({
  secretBox,
  webhookAllow,
}: {
  secretBox: SecretBox;
  webhookAllow: ProjectAllow;
}) {
  const changeOf = ({ projectId }: Place) => createCredentialsChange(webhookAllow.of(projectId));
  const cellOf = ({ id, projectId }: Omit<Place, 'url'>) => ({
    table: 'Webhook',
    column: 'secretCredentials',
    rowId: id,
    projectId,
  });

  function columnsOf(place: Place, credentials: WebhookCredentials) {
    if (credentials.headers.length === 0 && credentials.authentication === null && !credentials.tls) {
      return { credentials: Prisma.DbNull, secretCredentials: null };
    }
    const sealed: SealedWebhookCredentials = { url: place.url, ...credentials };
    return {
      credentials: shownCredentials(credentials) as unknown as Prisma.InputJsonObject,
      secretCredentials: secretBox.seal(JSON.stringify(sealed), cellOf(place)),
    };
  }

  return {
    /** The columns of a new webhook. @throws AppError `VALIDATION_FAILED` */
    ofNew: (place: Place, input: CredentialsInput) => columnsOf(place, changeOf(place)(NO_CREDENTIALS, input, false)),

    /**
     * The columns to change. They are encrypted together with the URL, and again with every new one. As a result, if a
     * process is currently requesting an access token for the old URL, that token is discarded.
     *
     * @param url the webhook's URL after the change, if it was given.
     * @returns undefined if nothing changes.
     * @throws AppError `VALIDATION_FAILED`, including when a new URL requires the secrets to be sent again.
     */
    ofChanged(before: Webhook, input: CredentialsInput, url: string | undefined) {
      const { secretCredentials } = before;
      const after = { ...before, url: url ?? before.url };
      const isGiven = CREDENTIAL_FIELDS.some((name) => input[name] !== undefined);
      if (!isGiven && (after.url === before.url || secretCredentials === null)) return undefined;
      const { url: sealedUrl = before.url, ...stored }: SealedWebhookCredentials =
        secretCredentials === null ? NO_CREDENTIALS : JSON.parse(secretBox.open(secretCredentials, cellOf(before)));
      return columnsOf(after, changeOf(before)(stored, input, after.url !== sealedUrl));
    },
  };
}

/** A webhook's headers and authentication as the API shows them. */
export function shownCredentialsOf({ credentials }: Pick<Webhook, 'credentials'>): WebhookCredentials {
  return (credentials as WebhookCredentials | null) ?? NO_CREDENTIALS;
}

/** The values for the audit log. URLs are masked there. */
export function auditedCredentials(webhook: Webhook): Values {
  const { headers, authentication, tls = {} } = shownCredentialsOf(webhook);
  const masked =
    authentication && 'tokenUrl' in authentication
      ? { ...authentication, tokenUrl: maskUrl(authentication.tokenUrl) }
      : authentication;
  return {
    headers: headers.length > 0 ? headers : null,
    authentication: masked,
    clientCertificate: fingerprintOf(tls.clientCertificate?.certificate),
    certificateAuthority: fingerprintOf(tls.certificateAuthority),
  };
}

/** Identifies a certificate without its whole text. */
function fingerprintOf(pem: string | undefined): string | null {
  return pem === undefined ? null : new X509Certificate(pem).fingerprint256;
}

/** Discards a webhook's access token. A process that is currently requesting one can no longer store it. */
export async function forgetToken(tx: Transaction, id: string): Promise<void> {
  await tx.webhookToken.updateMany({
    where: { id },
    data: { sealed: '', expiresAt: null, leaseUntil: null, generation: { increment: 1 } },
  });
}
