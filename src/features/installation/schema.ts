import { builder } from '../../schema/builder.ts';

declare module '../../schema/context.ts' {
  interface Services {
    installation: { isOnHold(): boolean };
  }
}

builder.queryField('isOnHold', (t) =>
  t.boolean({
    nullable: true,
    description:
      'Whether this service is on hold because its database was restored from a backup, or because an operator asked for it. While it is on ' +
      'hold, it doesn’t send deliveries or accept payments.',
    resolve: (_root, _args, { services }) => services.installation.isOnHold(),
  }),
);
