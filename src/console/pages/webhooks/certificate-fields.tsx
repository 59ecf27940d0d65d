import { Fieldset, Stack, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { WRITE_ONLY } from '../../parts/header-table.tsx';
import type { CredentialsValues } from './credentials-values.ts';

const PEM = { autosize: true, minRows: 2, maxRows: 6, spellCheck: false, autoComplete: 'off' } as const;

/** Certificates for servers in private networks, as text in PEM format. */
export function CertificateFields<Values extends CredentialsValues>({ form }: { form: UseFormReturnType<Values> }) {
  return (
    <Fieldset legend="Certificates">
      <Stack gap="md">
        <Textarea
          label="Certificate authority"
          description="The authority’s certificate, if your server’s certificate comes from a private authority. Tollgate then trusts only this authority."
          placeholder="-----BEGIN CERTIFICATE-----"
          {...PEM}
          {...form.getInputProps('certificateAuthority')}
        />
        <Textarea
          label="Client certificate"
          description="The certificate to present if your server requires one (mutual TLS), with any intermediate certificates."
          placeholder="-----BEGIN CERTIFICATE-----"
          {...PEM}
          {...form.getInputProps('clientCertificate.certificate')}
        />
        <Textarea
          label="Private key"
          description={`The client certificate’s key, without a passphrase. ${WRITE_ONLY}`}
          placeholder="-----BEGIN PRIVATE KEY-----"
          {...PEM}
          {...form.getInputProps('clientCertificate.privateKey')}
        />
      </Stack>
    </Fieldset>
  );
}
