-- Completes many jobs of a queue and hands out as many of the next ones as wait, as `moveToFinished` of BullMQ 6.7 does for
-- each of them.
--
-- It does the simple case only: jobs that are removed when they end, without parent, children, logs or deduplication, of a
-- queue that is neither paused nor limited and has no delayed or prioritized jobs. It checks this before the first write.
-- Where a condition does not hold it returns nil and has written nothing; the caller then calls BullMQ's script for each
-- job. What is the same for all jobs is done once: seven commands a job remain of twenty-two.
--
-- On failure: Redis keeps what a script wrote before an error. The completed jobs are removed by the last write, so that an
-- error before it leaves them active under their locks, and BullMQ's script can complete each of them. A next job is at
-- every moment in the waiting list or in the active one; when nobody was told of it, its lock is missing or expires, and
-- BullMQ hands it out again as a stalled job.
--
-- KEYS are those of BullMQ's script; `shared` are its arguments; `own` of each job are those that differ: id, result and
-- options. Returns what BullMQ's script would return for each job.
local function batch(KEYS, shared, own)
  local call = redis.call
  local wait, active, events, stalled = KEYS[1], KEYS[2], KEYS[4], KEYS[5]
  local now, prefix, n = shared[2], shared[7], #own
  if shared[5] ~= 'completed' or shared[6] ~= '1' or #shared[9] > 0 then return nil end

  local meta = call('HMGET', KEYS[9], 'paused', 'concurrency', 'max', 'opts.maxLenEvents')
  if meta[1] or meta[2] or meta[3] or not meta[4] or call('ZCARD', KEYS[3]) + call('ZCARD', KEYS[7]) > 0 then
    return nil
  end
  local hasEvents = tonumber(meta[4]) ~= 0
  local ids, ended, locks, related, options, lockMs = {}, {}, {}, {}, {}, {}
  for i = 1, n do
    local id, opts = own[i][1], cmsgpack.unpack(own[i][3])
    if opts.token == '0' or opts.keepJobs.count ~= 0 or opts.maxMetricsSize ~= '' or opts.limiter then return nil end
    if type(opts.lockDuration) ~= 'number' then return nil end
    local key = prefix .. id
    ids[i], ended[i], locks[i], options[i] = id, key, key .. ':lock', opts
    lockMs[i] = string.format('%d', opts.lockDuration)
    for _, part in ipairs({':dependencies', ':unsuccessful', ':processed', ':failed', ':logs'}) do
      related[#related + 1] = key .. part
    end
  end
  if call('EXISTS', unpack(related)) > 0 then return nil end
  local tokens = call('MGET', unpack(locks))
  for i = 1, n do
    if tokens[i] ~= options[i].token then return nil end
    local job = call('HMGET', ended[i], 'name', 'parentKey', 'parent', 'deid')
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

  local removed, isInBoth = 0, false
  local function start(i)
    local opts, fields, key = options[i], results[i][1], prefix .. next[i]
    if hasEvents then call('XADD', events, '*', 'event', 'active', 'jobId', next[i], 'prev', 'waiting') end
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
  local ok, outcome = pcall(function()
    -- Also the check that every job is active.
    for i = 1, n do
      if call('LREM', active, -1, ids[i]) == 0 then return nil end
      removed = i
    end
    if handed > 0 then
      call('LPUSH', active, unpack(next))
      isInBoth = true
      call('LTRIM', wait, 0, -handed - 1)
      isInBoth = false
    end
    if handed < n then call('DEL', KEYS[10]) end
    call('XTRIM', events, 'MAXLEN', '~', meta[4])
    for i = 1, n do
      if hasEvents then
        call('XADD', events, '*', 'event', 'completed', 'jobId', ids[i], shared[3], own[i][2], 'prev', 'active')
      end
      if i <= handed then start(i) end
    end
    if handed > 0 then call('ZADD', KEYS[14], 0, '0') end
    if hasEvents and call('EXISTS', wait, active) == 0 then call('XADD', events, '*', 'event', 'drained') end
    call('SREM', stalled, unpack(ids))
    for i = 1, n do ended[n + i] = locks[i] end
    call('DEL', unpack(ended))
    return results
  end)
  if ok and outcome then return results end
  if isInBoth then
    for i = 1, handed do call('LREM', active, 1, next[i]) end
  end
  if removed > 0 then call('RPUSH', active, unpack(ids, 1, removed)) end
  if not ok then error(outcome) end
  return nil
end
