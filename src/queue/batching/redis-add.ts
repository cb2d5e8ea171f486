/**
 * A Lua function that adds many jobs to a queue, on Redis.
 *
 * It leaves what `addStandardJob` of BullMQ 6.7 leaves for each, where that is simple: new jobs with ids of their own, without
 * parent, repetition or deduplication, at the end of a queue that is neither paused nor limited. It looks at all of this before
 * it writes: where one does not hold it does nothing and BullMQ's own script is called for each.
 * A test compares all keys with BullMQ's, and another fails when BullMQ's script changes.
 */

/** KEYS as BullMQ's; `own` are BullMQ's arguments of each job. Answers the ids, or nil when it did nothing. */
export const ADD_TOGETHER = `
local function together(KEYS, shared, own)
  local call = redis.call
  local events, n = KEYS[8], #own
  local meta = call('HMGET', KEYS[3], 'paused', 'concurrency', 'opts.maxLenEvents')
  if meta[1] or meta[2] or not meta[3] then return nil end
  local jobs, ids, keys, seen = {}, {}, {}, {}
  for i = 1, n do
    local args, opts = cmsgpack.unpack(own[i][1]), cmsgpack.unpack(own[i][3])
    local id = args[2]
    if id == '' or seen[id] or args[5] or args[6] or args[7] or args[8] or args[9] or opts.de or opts.lifo then return nil end
    seen[id], ids[i], keys[i], jobs[i] =
      true, id, args[1] .. id, {args[3], string.format('%d', args[4]), opts, cjson.encode(opts)}
  end
  if call('EXISTS', unpack(keys)) > 0 then return nil end

  call('INCRBY', KEYS[4], n)
  for i = 1, n do
    local name, timestamp, opts, encoded = unpack(jobs[i])
    call('HSET', keys[i], 'name', name, 'data', own[i][2], 'opts', encoded,
      'timestamp', timestamp, 'delay', opts.delay or '0', 'priority', opts.priority or '0')
    call('XADD', events, '*', 'event', 'added', 'jobId', ids[i], 'name', name)
    call('XADD', events, 'MAXLEN', '~', meta[3], '*', 'event', 'waiting', 'jobId', ids[i])
  end
  call('LPUSH', KEYS[1], unpack(ids))
  call('ZADD', KEYS[9], 0, '0')
  return ids
end`;
