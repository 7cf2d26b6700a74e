-- Read the last items before a number. KEYS: fence, items. ARGV: before, or 0 for the end; how many.
local deleted = tonumber(string.match(redis.call('GET', KEYS[1]) or '', '^%d+ %S+ (%d+)$')) or 0
local size, before = redis.call('LLEN', KEYS[2]), tonumber(ARGV[1])
local stop = before == 0 and size or math.max(0, math.min(size, before - 1 - deleted))
local first = math.max(0, stop - tonumber(ARGV[2]))
if stop == first then return {deleted + first, {}} end
return {deleted + first, redis.call('LRANGE', KEYS[2], first, stop - 1)}
