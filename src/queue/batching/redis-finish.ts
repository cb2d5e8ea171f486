/**
 * A Lua function that completes many jobs of a queue and hands out as many next ones as wait, on Redis.
 *
 * It leaves what `moveToFinished` of BullMQ 6.7 leaves for each, where that is simple: jobs that are removed when they end,
 * without parent, children, logs or deduplication, of a queue that is neither paused nor limited and has nothing delayed or with a
 * priority. It looks at all of this before it writes: where one does not hold it does nothing and BullMQ's own script
 * is called for each. What is the same for all is then done once, and seven commands a job remain of twenty-two.
 * A test compares all keys with BullMQ's, and another fails when BullMQ's script changes.
 */

/**
 * KEYS as BullMQ's; `shared` are BullMQ's arguments, `own` of each job those that differ: its id, result and options.
 * Answers what BullMQ's script would for each, or nil when it did nothing.
 */
export const FINISH_TOGETHER = `
local function together(KEYS, shared, own)
  local call = redis.call
  local wait, active, events, stalled = KEYS[1], KEYS[2], KEYS[4], KEYS[5]
  local now, prefix, n = shared[2], shared[7], #own
  if shared[5] ~= 'completed' or shared[6] ~= '1' or #shared[9] > 0 then return nil end

  local meta = call('HMGET', KEYS[9], 'paused', 'concurrency', 'max', 'opts.maxLenEvents')
  if meta[1] or meta[2] or meta[3] or not meta[4] or call('ZCARD', KEYS[3]) + call('ZCARD', KEYS[7]) > 0 then
    return nil
  end
  local ids, keys, locks, besides, options, lockMs = {}, {}, {}, {}, {}, {}
  for i = 1, n do
    local id, opts = own[i][1], cmsgpack.unpack(own[i][3])
    if opts.token == '0' or opts.keepJobs.count ~= 0 or opts.maxMetricsSize ~= '' or opts.limiter then return nil end
    if type(opts.lockDuration) ~= 'number' then return nil end
    local key = prefix .. id
    ids[i], keys[i], locks[i], options[i] = id, key, key .. ':lock', opts
    lockMs[i] = string.format('%d', opts.lockDuration)
    for _, part in ipairs({':dependencies', ':unsuccessful', ':processed', ':failed', ':logs'}) do
      besides[#besides + 1] = key .. part
    end
  end
  if call('EXISTS', unpack(besides)) > 0 then return nil end
  local tokens = call('MGET', unpack(locks))
  for i = 1, n do
    if tokens[i] ~= options[i].token then return nil end
    local job = call('HMGET', keys[i], 'name', 'parentKey', 'parent', 'deid')
    if not job[1] or job[2] or job[3] or job[4] then return nil end
  end
  local waiting = call('LRANGE', wait, -n, -1)
  local handed, results, next = #waiting, {}, {}
  for i = 1, handed do
    local id = waiting[handed + 1 - i]
    local fields = call('HGETALL', prefix .. id)
    if #fields == 0 or string.sub(id, 1, 2) == '0:' then return nil end
    next[i], results[i] = id, {fields, id, 0, 0}
  end
  for i = handed + 1, n do results[i] = 0 end

  for i = 1, n do
    if call('LREM', active, -1, ids[i]) == 0 then
      if i > 1 then call('RPUSH', active, unpack(ids, 1, i - 1)) end
      return nil
    end
  end
  call('SREM', stalled, unpack(ids))
  call('DEL', unpack(locks))
  call('DEL', unpack(keys))
  call('LTRIM', wait, 0, -handed - 1)
  if handed > 0 then call('LPUSH', active, unpack(next)) end
  if handed < n then call('DEL', KEYS[10]) end
  call('XTRIM', events, 'MAXLEN', '~', meta[4])
  local function start(i)
    local opts, fields, key = options[i], results[i][1], prefix .. next[i]
    call('XADD', events, '*', 'event', 'active', 'jobId', next[i], 'prev', 'waiting')
    call('SET', key .. ':lock', opts.token, 'PX', lockMs[i])
    local values = {processedOn = now, ats = 1, pb = opts.name}
    for f = 1, #fields, 2 do
      if fields[f] == 'ats' then values.ats = fields[f + 1] + 1 end
      fields[f + 1] = values[fields[f]] or fields[f + 1]
    end
    local started = {'processedOn', now, 'ats', tostring(values.ats)}
    if opts.name then started[5], started[6] = 'pb', opts.name end
    call('HSET', key, unpack(started))
    for s = 1, #started do fields[#fields + 1] = started[s] end
  end
  for i = 1, n do
    call('XADD', events, '*', 'event', 'completed', 'jobId', ids[i], shared[3], own[i][2], 'prev', 'active')
    if i <= handed then start(i) end
  end
  if handed > 0 then call('ZADD', KEYS[14], 0, '0') end
  if call('EXISTS', wait, active) == 0 then call('XADD', events, '*', 'event', 'drained') end
  return results
end`;
