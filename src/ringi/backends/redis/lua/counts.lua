-- Count what is in each part of some lists, as of one moment. KEYS: lists. ARGV: number of lists, list …,
-- first, last … in each list.
local numbers, lists = {}, 1 + ARGV[1]
for n = 2, lists do
  local head = '(' .. ARGV[n] .. '\0'
  for m = lists + 1, #ARGV, 2 do
    numbers[#numbers + 1] = redis.call('ZLEXCOUNT', KEYS[1], head .. ARGV[m], head .. ARGV[m + 1])
  end
end
return numbers
