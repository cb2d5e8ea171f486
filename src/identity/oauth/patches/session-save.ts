/**
 * Patches oidc-provider 9.13: `save` of its sessions stores the new row before it removes the old one. A login gives
 * its session a new id, and the library removes the old row first; in between, a token of the session would be refused.
 * `test/identity/oauth/refresh.test.ts` fails when the library keeps the old id elsewhere.
 */
import type Provider from 'oidc-provider';

export function storeBeforeRemoving(provider: Provider): void {
  const { prototype } = provider.Session;
  const { save } = prototype;
  prototype.save = async function saveFirst(this: InstanceType<Provider['Session']> & { oldId?: string }, ttl) {
    const { oldId } = this;
    delete this.oldId;
    const id = await save.call(this, ttl);
    if (oldId) await this.adapter.destroy(oldId);
    return id;
  };
}
