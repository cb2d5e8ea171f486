/** `muster orgs deactivate|reactivate|delete|undelete`: what an IAM_OWNER does to an organization as a whole. */
import type { CommandModule } from 'yargs';
import { command } from '../command.ts';
import { flag, ORG, YES } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { confirm } from '../terminal/ask.ts';

const deactivate = command({
  usage: 'deactivate <org>',
  describe: 'stop everything that happens for an organization, without deleting anything (IAM_OWNER)',
  options: { org: ORG, yes: YES },
  examples: [['$0 orgs deactivate acme', 'nobody of acme can sign in']],
  async run({ out, api }, { yes, ...given }) {
    const org = await findOrg(api, given.org);
    if (!yes) await confirm(out, `Deactivate ${org}? Its users cannot sign in, and its imports are paused.`);
    out.result(await api.call('deactivateOrg', { org }));
    out.line(`Organization ${org} is deactivated.`);
    if (!out.json) out.note(`\`muster orgs reactivate ${org}\` takes it back.`);
  },
});

const reactivate = command({
  usage: 'reactivate <org>',
  describe: 'let a deactivated organization work again (IAM_OWNER)',
  options: { org: ORG },
  examples: [['$0 orgs reactivate acme', '']],
  async run({ out, api }, given) {
    const org = await findOrg(api, given.org);
    out.result(await api.call('reactivateOrg', { org }));
    out.line(`Organization ${org} is reactivated.`);
    if (!out.json) out.note('Its imports stay paused: continue them with `muster resume`.');
  },
});

const COUNTED = [
  ['humans', 'humans'],
  ['machineUsers', 'machine users'],
  ['members', 'memberships'],
  ['imports', 'imports'],
  ['drafts', 'drafts'],
  ['passwordSources', 'password sources'],
  ['identityProviders', 'identity providers'],
  ['unsentMails', 'unsent mails'],
  ['events', 'events of its history'],
] as const;

const remove = command({
  usage: 'delete <org>',
  describe: 'delete an organization with all its users; it can be taken back for 7 days (IAM_OWNER)',
  options: { org: ORG, 'dry-run': flag('only show what would be removed'), yes: YES },
  examples: [
    ['$0 orgs delete acme --dry-run', 'counts what goes'],
    ['$0 orgs delete acme', 'counts, asks and deletes'],
  ],
  async run({ out, api }, { dryRun, yes, ...given }) {
    const org = await findOrg(api, given.org);
    const preview = await api.call('previewOrgRemoval', { org });
    if (dryRun) out.result(preview);
    out.table(
      [],
      COUNTED.map(([key, name]) => [name, String(preview[key])]),
    );
    if (dryRun) return;
    if (!yes) await confirm(out, `Delete ${org} with all of this? It can be taken back for 7 days.`);
    out.result(await api.call('deleteOrg', { org }));
    out.line(`Organization ${org} is deleted.`);
    if (!out.json) out.note(`\`muster orgs undelete ${org}\` takes it back for 7 days; then it is removed for good.`);
  },
});

const undelete = command({
  usage: 'undelete <org>',
  describe: 'take the deletion of an organization back, within 7 days (IAM_OWNER)',
  options: { org: ORG },
  examples: [['$0 orgs undelete acme', '']],
  async run({ out, api }, given) {
    const org = await findOrg(api, given.org);
    out.result(await api.call('undeleteOrg', { org }));
    out.line(`Organization ${org} is back.`);
    if (!out.json) out.note('Its imports stay paused: continue them with `muster resume`.');
  },
});

export const ORG_STATES: readonly CommandModule[] = [deactivate, reactivate, remove, undelete];
